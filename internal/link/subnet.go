package link

import (
	"fmt"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Unannounceable reports why this machine's interfaces forbid to announce a:
// it is one of the machine's own addresses, or the network or directed
// broadcast address of a subnet that it is attached to. The message is one
// line; the kind is lb.ProblemNone when there is nothing against a.
//
// Interfaces that are administratively down are passed over: service proxies
// keep VIPs on a dummy interface that is never up.
func (s State) Unannounceable(a netip.Addr) (lb.ProblemKind, string) {
	for _, i := range s.Interfaces {
		if !i.Up {
			continue
		}
		for _, p := range i.Addrs {
			if p.Addr() == a {
				return lb.AddressIsNode, fmt.Sprintf("%s is an address of this node's interface %s: choose one that no machine has", a, i.Name)
			}
			switch {
			case a == NetworkAddress(p):
				return lb.AddressNotUnicast, fmt.Sprintf("%s is the network address of %s on %s: hosts don't accept it, choose another", a, p.Masked(), i.Name)
			case a == BroadcastAddress(p):
				return lb.AddressNotUnicast, fmt.Sprintf("%s is the broadcast address of %s on %s: hosts don't accept it, choose another", a, p.Masked(), i.Name)
			}
		}
	}
	return lb.ProblemNone, ""
}

// NetworkAddress returns the address of an IPv4 subnet itself, or the zero
// Addr for IPv6 and for prefixes of 31 bits (RFC 3021) and more.
func NetworkAddress(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}
	return p.Masked().Addr()
}

// BroadcastAddress returns the directed broadcast address of an IPv4 subnet
// (RFC 919), or the zero Addr where [NetworkAddress] does.
func BroadcastAddress(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}
	b := p.Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b)
}
