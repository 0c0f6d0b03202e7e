package link

import (
	"net/netip"
	"path"
	"slices"
)

// Reason is why an interface is, or is not, one to announce on.
type Reason uint8

const (
	// Selected: a name or glob that was asked for matches it.
	Selected Reason = iota
	// HoldsNodeAddress: no interface was asked for, and it has an address of the node.
	HoldsNodeAddress
	// Down: it was chosen for one of the two reasons above, and can't pass
	// frames now.
	Down
	// NotMatched: nothing that was asked for matches it, or, if nothing was, it
	// has no address of the node.
	NotMatched
	// Missing: this was asked for, and there is no such interface.
	Missing
	// Loopback: it would have been chosen, but a loopback interface reaches nobody.
	Loopback
	// NoMAC: it would have been chosen, but it has no Ethernet address (a tunnel).
	NoMAC
	numReasons
)

// Reasons is how many reasons there are.
const Reasons = int(numReasons)

var reasonNames = [numReasons]string{
	"selected", "holds_node_address", "down", "not_matched", "missing", "loopback", "no_mac",
}

func (r Reason) String() string { return reasonNames[r] }

// Choice is the verdict on one interface.
type Choice struct {
	Name   string // of the interface; for Missing what was asked for
	Reason Reason
}

// Selected reports whether to announce through the interface. One that is down
// is chosen too: it stays the node's interface until it returns.
func (c Choice) Selected() bool {
	return c.Reason == Selected || c.Reason == HoldsNodeAddress || c.Reason == Down
}

// Select chooses the interfaces to announce on: those that patterns (names or
// globs as in [path.Match]) name, or, without any, those that hold one of the
// node's addresses. It gives a verdict for every interface, in the order of s,
// and then for every pattern that matches none.
func Select(s State, node []netip.Addr, patterns []string) []Choice {
	choices := make([]Choice, 0, len(s.Interfaces))
	for _, i := range s.Interfaces {
		choices = append(choices, Choice{i.Name, judge(i, node, patterns)})
	}
	for n, p := range patterns {
		if slices.Contains(patterns[:n], p) {
			continue
		}
		if !slices.ContainsFunc(s.Interfaces, func(i Interface) bool { return matches(p, i.Name) }) {
			choices = append(choices, Choice{p, Missing})
		}
	}
	return choices
}

func judge(i Interface, node []netip.Addr, patterns []string) Reason {
	reason := NotMatched
	switch {
	case len(patterns) == 0 && slices.ContainsFunc(node, i.Has):
		reason = HoldsNodeAddress
	case slices.ContainsFunc(patterns, func(p string) bool { return matches(p, i.Name) }):
		reason = Selected
	}
	switch {
	case reason == NotMatched:
		return NotMatched
	case i.Loopback:
		return Loopback
	case i.MAC.IsZero():
		return NoMAC
	case !i.Usable():
		return Down
	}
	return reason
}

// matches reports whether the name or glob is the interface's. A pattern that
// is no valid glob is a name.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == name || err == nil && ok
}
