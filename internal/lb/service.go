package lb

import (
	"net/netip"
	"strings"
	"time"
)

// ObjectName names a namespaced object, printed as "namespace/name".
type ObjectName struct {
	Namespace string
	Name      string
}

func (n ObjectName) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// Compare orders names by namespace, then by name.
func (n ObjectName) Compare(o ObjectName) int {
	if c := strings.Compare(n.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(n.Name, o.Name)
}

// Protocol is an IP transport protocol, as its IANA protocol number.
type Protocol uint8

// The protocols that a Kubernetes Service can have.
const (
	TCP  Protocol = 6
	UDP  Protocol = 17
	SCTP Protocol = 132
)

func (p Protocol) String() string {
	switch p {
	case TCP:
		return "TCP"
	case UDP:
		return "UDP"
	case SCTP:
		return "SCTP"
	}
	return "unknown protocol"
}

// Forwarding says how the packets of a service reach its endpoints once the
// owner of its address has them.
type Forwarding uint8

// The values of the annotation fairlead.dev/forwarding and of the flag
// --forwarding. The zero value means that a service leaves it to the agent.
const (
	ForwardingDefault Forwarding = iota
	// ForwardingDSR: Fairlead's own data plane, endpoints answer clients directly.
	ForwardingDSR
	// ForwardingKubeProxy: announce only, the node's service proxy does the rest.
	ForwardingKubeProxy
)

func (f Forwarding) String() string {
	switch f {
	case ForwardingDSR:
		return "dsr"
	case ForwardingKubeProxy:
		return "kube-proxy"
	}
	return "default"
}

// ParseForwarding is the inverse of [Forwarding.String]; ok is false for
// anything that is not a value of the annotation fairlead.dev/forwarding.
func ParseForwarding(s string) (f Forwarding, ok bool) {
	switch s {
	case "dsr":
		return ForwardingDSR, true
	case "kube-proxy":
		return ForwardingKubeProxy, true
	}
	return ForwardingDefault, false
}

// Service is a Kubernetes Service of type LoadBalancer that is ours to serve,
// with the addresses that it may be served on: what was refused of it is not
// here but among [Snapshot.Problems].
type Service struct {
	Name      ObjectName
	Addresses []netip.Addr // VIPs, in the order of the object
	Ports     []ServicePort

	// LocalOnly is externalTrafficPolicy: Local.
	LocalOnly bool
	// AffinityTimeout is > 0 for sessionAffinity: ClientIP.
	AffinityTimeout time.Duration
	// Restricted is true when loadBalancerSourceRanges lists anything at all,
	// even if no entry could be parsed: a typo must not open a service.
	Restricted   bool
	SourceRanges []netip.Prefix

	Forwarding Forwarding
	SharingKey string
}

// ServicePort is one port of a service with the endpoints that its
// EndpointSlices list for it (matched by port name and protocol).
type ServicePort struct {
	Name      string
	Protocol  Protocol
	Port      uint16
	Endpoints []Endpoint // sorted by address, port; no duplicates
}

// Endpoint is a place that serves a service port.
type Endpoint struct {
	Addr netip.AddrPort
	Node string // name of the node that it runs on; "" if the slice doesn't say
	// The conditions as EndpointSlice defines them: an absent ready counts as
	// true, an absent serving as ready, an absent terminating as false.
	Ready, Serving, Terminating bool
}

// Active returns the endpoints that new connections may go to: the ready
// ones, or, when there is none, those that are still serving while they
// terminate (KEP-1669).
func (p ServicePort) Active() []Endpoint {
	return Active(p.Endpoints)
}

// Active is [ServicePort.Active] for a bare list.
func Active(endpoints []Endpoint) []Endpoint {
	var ready, terminating []Endpoint
	for _, e := range endpoints {
		switch {
		case e.Ready:
			ready = append(ready, e)
		case e.Serving && e.Terminating:
			terminating = append(terminating, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return terminating
}
