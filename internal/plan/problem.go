package plan

import "fmt"

// ProblemKind is why a part of the input is not planned, or not as asked for.
type ProblemKind uint8

// The kinds of problems. Their strings are metric labels.
const (
	SCTPPort         ProblemKind = iota // targetPort ≠ port: SCTP's checksum covers the ports
	EndpointNode                        // an endpoint on a node that the snapshot doesn't have
	TooManyEndpoints                    // beyond what a table can tell apart
	ModeImpossible                      // l2 or dscp asked for where it can't be
	NodeUnreachable                     // no address and no MAC to send to
	DSCPExhausted                       // more VIPs than code points
	MarkTaken                           // two VIPs with a mark in common
	VIPReserved                         // a VIP where marks lie
	numProblemKinds
)

var problemNames = [numProblemKinds]string{
	SCTPPort:         "sctp_port_translation",
	EndpointNode:     "endpoint_node_unknown",
	TooManyEndpoints: "too_many_endpoints",
	ModeImpossible:   "mode_impossible",
	NodeUnreachable:  "node_unreachable",
	DSCPExhausted:    "dscp_exhausted",
	MarkTaken:        "mark_taken",
	VIPReserved:      "vip_reserved",
}

func (k ProblemKind) String() string { return problemNames[k] }

// ProblemKinds is how many kinds there are, for arrays indexed by kind.
const ProblemKinds = int(numProblemKinds)

// Problem is something that a person should know. All else is planned.
type Problem struct {
	Kind   ProblemKind
	Object string // "default/web 80/SCTP", "node n2", "vip 10.77.0.200"
	Detail string // the endpoint, the mode, …
}

func (p Problem) String() string {
	if p.Detail == "" {
		return fmt.Sprintf("%s %s", p.Kind, p.Object)
	}
	return fmt.Sprintf("%s %s: %s", p.Kind, p.Object, p.Detail)
}
