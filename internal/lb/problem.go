package lb

import (
	"cmp"
	"fmt"
	"net/netip"
)

// ProblemKind is why a part of the input is not used, or used with a warning.
type ProblemKind uint8

// The kinds of problems. Their strings are metric labels, keys of the status
// counters and the reason of a VIP that is not served.
const (
	ProblemNone         ProblemKind = iota
	AddressInvalid                  // not an address, or written ambiguously
	AddressNotUnicast               // loopback, multicast, link-local, broadcast, unspecified
	AddressIsNode                   // a node's own address
	AddressOutsidePools             // in no AddressPool although there are pools
	AddressShared                   // held by another service and no common sharing key
	PortTaken                       // another service has this address, protocol and port
	PortInvalid                     // 0, above 65535, a protocol that can't be served, or no port at all
	EndpointInvalid                 // an endpoint address that must not be served
	EndpointNoNode                  // nodeName missing or unknown
	SourceRangeInvalid              // an entry of loadBalancerSourceRanges
	PoolInvalid                     // an element of an AddressPool
	PoolOverlap                     // two pools share addresses
	AnnouncementInvalid             // a bad selector, glob or pool name
	UnknownField                    // a field that the kind does not have
	KindIgnored                     // a kind that Fairlead doesn't use
	ForwardingInvalid               // a value of fairlead.dev/forwarding
	ValueInvalid                    // another field with a value that it can't have
	NoCommonNode                    // no node serves all that is local on an address
	NoAddress                       // a service of ours that asks for no address and has none
	numProblemKinds
)

var problemNames = [numProblemKinds]string{
	ProblemNone:         "none",
	AddressInvalid:      "address_invalid",
	AddressNotUnicast:   "address_not_unicast",
	AddressIsNode:       "address_is_node",
	AddressOutsidePools: "address_outside_pools",
	AddressShared:       "address_shared",
	PortTaken:           "port_taken",
	PortInvalid:         "port_invalid",
	EndpointInvalid:     "endpoint_invalid",
	EndpointNoNode:      "endpoint_no_node",
	SourceRangeInvalid:  "source_range_invalid",
	PoolInvalid:         "pool_invalid",
	PoolOverlap:         "pool_overlap",
	AnnouncementInvalid: "announcement_invalid",
	UnknownField:        "unknown_field",
	KindIgnored:         "kind_ignored",
	ForwardingInvalid:   "forwarding_invalid",
	ValueInvalid:        "value_invalid",
	NoCommonNode:        "no_common_node",
	NoAddress:           "no_address",
}

func (k ProblemKind) String() string { return problemNames[k] }

// ProblemKinds is how many kinds there are, for arrays indexed by kind.
const ProblemKinds = int(numProblemKinds)

// Problem is something that a person should mend. It never stops anything
// else from being served.
type Problem struct {
	Kind   ProblemKind
	Object string // "Service default/web", "AddressPool p"
	Where  string // "dir/web.yaml:12" or ""
	Field  string // "spec.ports[0].port" or ""
	// Addr is the VIP that is refused because of it, or the zero Addr.
	Addr netip.Addr
	// Message is one line that says what is wrong and what to write instead.
	Message string
	// Warning is true when what it speaks of is used all the same.
	Warning bool
}

func (p Problem) String() string {
	s := p.Object
	if p.Where != "" {
		s = p.Where + ": " + s
	}
	if p.Field != "" {
		s += ": " + p.Field
	}
	return fmt.Sprintf("%s: %s (%s)", s, p.Message, p.Kind)
}

// Compare orders problems by object, then by place in it.
func (p Problem) Compare(o Problem) int {
	return cmp.Or(
		cmp.Compare(p.Object, o.Object),
		cmp.Compare(p.Where, o.Where),
		cmp.Compare(p.Field, o.Field),
		cmp.Compare(p.Kind, o.Kind),
		p.Addr.Compare(o.Addr),
		cmp.Compare(p.Message, o.Message),
	)
}
