package packet

// Refusal is why a frame was not parsed.
type Refusal uint8

// The refusals. Their strings are metric labels.
const (
	Accepted          Refusal = iota
	Truncated                 // shorter than its own headers and lengths say
	OtherEtherType            // neither ARP nor IPv6
	GroupSource               // sent by a group or zero hardware address
	ARPHardware               // not Ethernet with 6-byte addresses (RFC 826)
	ARPProtocol               // not IPv4 with 4-byte addresses
	ARPOperation              // neither request nor reply
	ARPSender                 // sender hardware address is a group or zero
	IPVersion                 // version field is not 6
	NotICMPv6                 // another next header, or an extension header in front
	NotNDP                    // neither solicitation nor advertisement
	HopLimit                  // not 255: came through a router (RFC 4861 §7.1)
	Checksum                  // ICMPv6 checksum wrong
	ICMPCode                  // not 0
	TargetMulticast           // target is a multicast address
	OptionLength              // an option of length 0, or beyond the message
	LinkAddress               // link-layer address option with a group or zero address
	UnspecifiedSource         // source :: with a link-layer option or outside the solicited-node group
	SolicitedGroup            // solicited flag in an advertisement to a group
	numRefusals
)

// Refusals is how many refusals there are, for arrays indexed by refusal.
const Refusals = int(numRefusals)

var refusalNames = [numRefusals]string{
	Accepted:          "accepted",
	Truncated:         "truncated",
	OtherEtherType:    "other_ethertype",
	GroupSource:       "group_source",
	ARPHardware:       "arp_hardware",
	ARPProtocol:       "arp_protocol",
	ARPOperation:      "arp_operation",
	ARPSender:         "arp_sender",
	IPVersion:         "ip_version",
	NotICMPv6:         "not_icmpv6",
	NotNDP:            "not_ndp",
	HopLimit:          "hop_limit",
	Checksum:          "checksum",
	ICMPCode:          "icmp_code",
	TargetMulticast:   "target_multicast",
	OptionLength:      "option_length",
	LinkAddress:       "link_address",
	UnspecifiedSource: "unspecified_source",
	SolicitedGroup:    "solicited_group",
}

func (r Refusal) String() string { return refusalNames[r] }
