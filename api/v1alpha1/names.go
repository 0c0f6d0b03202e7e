package v1alpha1

// The group and version of the kinds of this package.
const (
	Group      = "fairlead.dev"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// LoadBalancerClass is the spec.loadBalancerClass of the Services that are
// Fairlead's. A Service of type LoadBalancer without a class is too.
const LoadBalancerClass = "fairlead.dev/fairlead"

// The annotations of a Service.
const (
	// AnnotationAddresses requests addresses: a comma list.
	AnnotationAddresses = "fairlead.dev/addresses"
	// AnnotationPool requests addresses of the AddressPool of that name.
	AnnotationPool = "fairlead.dev/pool"
	// AnnotationSharingKey lets the Services that have the same non-empty key
	// share an address, as long as their ports differ.
	AnnotationSharingKey = "fairlead.dev/sharing-key"
	// AnnotationForwarding is "dsr" or "kube-proxy"; the agent's --forwarding
	// without it.
	AnnotationForwarding = "fairlead.dev/forwarding"
)

// AnnotationDrain on a Node with the value "true" has the node hand over every
// address that it owns and take no new ones.
const AnnotationDrain = "fairlead.dev/drain"
