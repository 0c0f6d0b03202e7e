package plan

// Action is what happens to a packet.
type Action uint8

// The actions.
const (
	Pass    Action = iota // to the kernel, as it came
	Drop                  // nothing more
	Hold                  // to the agent, which hands it in again once its first fragment is known
	Forward               // out to another node
	Deliver               // to the kernel, which brings it to the endpoint
	Answer                // to the client, in the place of an endpoint
	Send                  // to the client, from an endpoint
)

var actionNames = [...]string{"pass", "drop", "hold", "forward", "deliver", "answer", "send"}

func (a Action) String() string { return actionNames[a] }

// Reason is why that happens: the verdict of the programs on a packet. Each
// has one action. Their strings are metric labels.
type Reason uint8

// The reasons.
const (
	NotOurMAC          Reason = iota // flooded by a switch, or for a group
	NotVIP                           // for somebody else
	LeftToServiceProxy               // forwarding: kube-proxy
	NeighbourMessage                 // the announcer answers
	TunnelNotOurs                    // IPIP or GRE that others may use between any two hosts
	ReplyNotOurs                     // from no flow that we know

	Malformed       // headers contradict the frame
	MartianSource   // a source that nobody can have, or a VIP
	TTLZero         // RFC 791 §3.1
	TunnelStranger  // GUE from an address that is no node's
	TunnelMalformed // GUE, GRE or IP header that isn't to be opened
	TunnelInner     // not for a VIP
	MarkStranger    // a mark from somebody who is no node
	MarkUnknown     // a mark for no VIP that we know
	SourceDenied    // loadBalancerSourceRanges
	ICMPIgnored     // a control message that no host needs
	ICMPForeign     // quotes a packet that didn't come from the VIP
	ICMPUnknownFlow // quotes a flow that nobody knows
	RefusalLimited  // too many refusals lately
	RSTUnknownFlow  // ends a flow that nobody knows
	TablesDisagree  // every node says that another one is responsible
	Unreachable     // no way to the node is known
	ServiceUnknown  // from a node that knows a service which we don't
	TooBigNoDF      // doesn't fit the tunnel and may be fragmented, which we can't
	PortsExhausted  // the endpoint has too many flows from that client's port
	PortTaken       // SCTP: the endpoint has a flow from that client's port

	FragmentEarly // came before the one with the ports

	Directed       // to the endpoint's node, by the table
	SecondChance   // unknown here, may be known there
	NewFlowOffered // may have been there before a change
	NewFlowPassed  // the table says another node
	Returned       // nobody knew it: back to where the table says

	DeliveredKnown   // of a known flow
	DeliveredNew     // first of a flow
	DeliveredRebuilt // nobody knew the flow: the endpoint will
	DeliveredICMP    // about a known flow

	PingAnswered
	PortClosed      // nothing on that port of the VIP
	NoEndpointReady // nobody there for the service
	ProtocolClosed  // no such protocol on a VIP
	FlowUnknown     // nobody knew the flow, and the endpoint is elsewhere
	TooBig          // doesn't fit the tunnel: RFC 1191, RFC 8201

	Replied     // from an endpoint
	RepliedICMP // from an endpoint, or a router before it, about a flow
	numReasons
)

// Reasons is how many reasons there are, for arrays indexed by reason.
const Reasons = int(numReasons)

var reasons = [numReasons]struct {
	name   string
	action Action
}{
	NotOurMAC:          {"not_our_mac", Pass},
	NotVIP:             {"not_vip", Pass},
	LeftToServiceProxy: {"left_to_service_proxy", Pass},
	NeighbourMessage:   {"neighbour_message", Pass},
	TunnelNotOurs:      {"tunnel_not_ours", Pass},
	ReplyNotOurs:       {"reply_not_ours", Pass},
	Malformed:          {"malformed", Drop},
	MartianSource:      {"martian_source", Drop},
	TTLZero:            {"ttl_zero", Drop},
	TunnelStranger:     {"tunnel_stranger", Drop},
	TunnelMalformed:    {"tunnel_malformed", Drop},
	TunnelInner:        {"tunnel_inner", Drop},
	MarkStranger:       {"mark_stranger", Drop},
	MarkUnknown:        {"mark_unknown", Drop},
	SourceDenied:       {"source_denied", Drop},
	ICMPIgnored:        {"icmp_ignored", Drop},
	ICMPForeign:        {"icmp_foreign", Drop},
	ICMPUnknownFlow:    {"icmp_unknown_flow", Drop},
	RefusalLimited:     {"refusal_limited", Drop},
	RSTUnknownFlow:     {"rst_unknown_flow", Drop},
	TablesDisagree:     {"tables_disagree", Drop},
	Unreachable:        {"unreachable", Drop},
	ServiceUnknown:     {"service_unknown", Drop},
	TooBigNoDF:         {"too_big_no_df", Drop},
	PortsExhausted:     {"ports_exhausted", Drop},
	PortTaken:          {"port_taken", Drop},
	FragmentEarly:      {"fragment_early", Hold},
	Directed:           {"directed", Forward},
	SecondChance:       {"second_chance", Forward},
	NewFlowOffered:     {"new_flow_offered", Forward},
	NewFlowPassed:      {"new_flow_passed", Forward},
	Returned:           {"returned", Forward},
	DeliveredKnown:     {"delivered_known", Deliver},
	DeliveredNew:       {"delivered_new", Deliver},
	DeliveredRebuilt:   {"delivered_rebuilt", Deliver},
	DeliveredICMP:      {"delivered_icmp", Deliver},
	PingAnswered:       {"ping_answered", Answer},
	PortClosed:         {"port_closed", Answer},
	NoEndpointReady:    {"no_endpoint_ready", Answer},
	ProtocolClosed:     {"protocol_closed", Answer},
	FlowUnknown:        {"flow_unknown", Answer},
	TooBig:             {"too_big", Answer},
	Replied:            {"replied", Send},
	RepliedICMP:        {"replied_icmp", Send},
}

func (r Reason) String() string { return reasons[r].name }

// Action is what happens to a packet for that reason.
func (r Reason) Action() Action { return reasons[r].action }
