package link

import (
	"net/netip"
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Interface is a network interface as it is at one moment.
type Interface struct {
	Name    string
	Index   int
	MAC     lb.MAC
	MTU     int
	Up      bool // administratively up
	Carrier bool // operationally able to pass packets (IFF_LOWER_UP)
	Master  int  // index of the bridge, bond or VRF it is enslaved to, or 0
	// Loopback is IFF_LOOPBACK: nothing is ever announced there.
	Loopback bool
	// Addrs are the usable addresses, sorted: not tentative, not failed in
	// duplicate address detection.
	Addrs []netip.Prefix
}

// Usable reports whether frames can be sent and received now.
func (i Interface) Usable() bool { return i.Up && i.Carrier && !i.MAC.IsZero() }

// Has reports whether a is one of the interface's addresses.
func (i Interface) Has(a netip.Addr) bool {
	for _, p := range i.Addrs {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// Equal reports whether i and o are the same in every respect.
func (i Interface) Equal(o Interface) bool {
	return slices.Equal(i.Addrs, o.Addrs) &&
		i.Name == o.Name && i.Index == o.Index && i.MAC == o.MAC && i.MTU == o.MTU &&
		i.Up == o.Up && i.Carrier == o.Carrier && i.Master == o.Master && i.Loopback == o.Loopback
}

// State is all interfaces at one moment, sorted by name.
type State struct {
	Interfaces []Interface
}

// Equal reports whether s and o describe the same interfaces.
func (s State) Equal(o State) bool {
	return slices.EqualFunc(s.Interfaces, o.Interfaces, Interface.Equal)
}

// ByName returns the interface of that name.
func (s State) ByName(name string) (Interface, bool) {
	for _, i := range s.Interfaces {
		if i.Name == name {
			return i, true
		}
	}
	return Interface{}, false
}

// Holding returns the interface that has the address a.
func (s State) Holding(a netip.Addr) (Interface, bool) {
	for _, i := range s.Interfaces {
		if i.Has(a) {
			return i, true
		}
	}
	return Interface{}, false
}
