package link

import (
	"cmp"
	"net/netip"
	"slices"
)

// table is what is known of the kernel's interfaces and addresses, changed
// event by event. Links and addresses come from two independent sockets, so
// neither may rely on having heard the other: an address of an interface that
// is not known yet waits, and deleting an interface leaves its addresses to
// their own delete events.
type table struct {
	links map[int]Interface // by index, without addresses
	addrs map[int]map[netip.Prefix]struct{}
}

func newTable() *table {
	return &table{links: make(map[int]Interface), addrs: make(map[int]map[netip.Prefix]struct{})}
}

// setLink adds the interface or replaces what was known of it.
func (t *table) setLink(i Interface) { t.links[i.Index] = i }

// removeLink forgets the interface.
func (t *table) removeLink(index int) { delete(t.links, index) }

// setAddr adds or removes one address of an interface.
func (t *table) setAddr(index int, p netip.Prefix, usable bool) {
	if !usable {
		delete(t.addrs[index], p)
		if len(t.addrs[index]) == 0 {
			delete(t.addrs, index)
		}
		return
	}
	if t.addrs[index] == nil {
		t.addrs[index] = make(map[netip.Prefix]struct{})
	}
	t.addrs[index][p] = struct{}{}
}

// state returns the table as a State of its own.
func (t *table) state() State {
	s := State{Interfaces: make([]Interface, 0, len(t.links))}
	for index, i := range t.links {
		for p := range t.addrs[index] {
			i.Addrs = append(i.Addrs, p)
		}
		slices.SortFunc(i.Addrs, comparePrefix)
		s.Interfaces = append(s.Interfaces, i)
	}
	slices.SortFunc(s.Interfaces, func(a, b Interface) int {
		// The index settles the moment between two renames in which the events
		// heard so far give one name to two interfaces.
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
	})
	return s
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
