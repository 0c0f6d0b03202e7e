package lb

// Refusal is why a node is no candidate for a VIP.
type Refusal uint8

// The refusals. The soft ones give way when they would leave a VIP without
// any candidate.
const (
	Eligible          Refusal = iota
	NoRule                    // no Announcement covers the address on this node and interface
	NotSelected               // a nodeSelector leaves the node out
	ExcludedByLabel           // node.kubernetes.io/exclude-from-external-load-balancers
	InterfaceDown             // no carrier, or the interface is gone
	NotReady                  // the Node object says NotReady, beyond the grace
	Draining                  // asked to hand everything over
	DataplaneNotReady         // the node says that it can't forward yet
	NoLocalEndpoint           // externalTrafficPolicy: Local and no active endpoint there
	HearsNobody               // the node hears no member while others are known
	UnknownNode               // the manifests have Nodes, and this is none of them
	numRefusals
)

var refusalNames = [numRefusals]string{
	Eligible:          "eligible",
	NoRule:            "no_announcement_rule",
	NotSelected:       "not_selected",
	ExcludedByLabel:   "excluded_by_label",
	InterfaceDown:     "interface_down",
	NotReady:          "node_not_ready",
	Draining:          "draining",
	DataplaneNotReady: "dataplane_not_ready",
	NoLocalEndpoint:   "no_local_endpoint",
	HearsNobody:       "hears_nobody",
	UnknownNode:       "unknown_node",
}

func (r Refusal) String() string { return refusalNames[r] }

// Soft reports whether r may be overruled to keep a VIP announced at all.
func (r Refusal) Soft() bool {
	switch r {
	case NotReady, Draining, DataplaneNotReady, NoLocalEndpoint, HearsNobody, UnknownNode:
		return true
	}
	return false
}
