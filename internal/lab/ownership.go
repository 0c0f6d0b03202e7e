package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// claim is who owns a VIP, as the how-manieth owner.
type claim struct {
	node  string
	epoch uint64
}

// ownership is who owns which VIP.
type ownership map[netip.Addr]claim

// agree returns the ownership that all the agents asked see alike, or what
// they don't agree on yet. Only an agent that was asked can be an owner.
func agree(states map[string]agentState, vips []netip.Addr) (ownership, error) {
	nodes := slices.Sorted(maps.Keys(states))
	if len(nodes) == 0 {
		return nil, fmt.Errorf("no agent is running")
	}
	seen := make(map[string]map[netip.Addr]int, len(nodes))
	for _, n := range nodes {
		seen[n] = make(map[netip.Addr]int)
		for i, v := range states[n].VIPs {
			seen[n][v.Address] = i
		}
	}
	agreed := make(ownership, len(vips))
	for _, addr := range vips {
		for _, n := range nodes {
			i, ok := seen[n][addr]
			if !ok {
				return nil, fmt.Errorf("%s does not know %s", n, addr)
			}
			v := states[n].VIPs[i]
			if v.Owner == "" {
				return nil, fmt.Errorf("%s sees no owner of %s (%s)", n, addr, strings.TrimSpace(v.State+" "+v.Reason))
			}
			if _, asked := states[v.Owner]; !asked {
				return nil, fmt.Errorf("%s thinks that %s owns %s", n, v.Owner, addr)
			}
			c := claim{v.Owner, v.Epoch}
			if have, ok := agreed[addr]; ok && have != c {
				return nil, fmt.Errorf("%s: %s sees %s with epoch %d, another %s with epoch %d", addr, n, c.node, c.epoch, have.node, have.epoch)
			}
			agreed[addr] = c
		}
	}
	return agreed, nil
}

// of returns the VIPs that a node owns, sorted.
func (o ownership) of(node string) []netip.Addr {
	var addrs []netip.Addr
	for a, c := range o {
		if c.node == node {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs
}

// moved returns the VIPs whose owner is another than in before, sorted.
func (o ownership) moved(before ownership) []netip.Addr {
	var addrs []netip.Addr
	for a, c := range o {
		if before[a].node != c.node {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs
}

// perNode returns how many VIPs each of the nodes owns.
func (o ownership) perNode(nodes []string) map[string]int {
	counts := make(map[string]int, len(nodes))
	for _, n := range nodes {
		counts[n] = len(o.of(n))
	}
	return counts
}

// describe lists who owns what, a line a node; with many VIPs their number.
func (o ownership) describe(nodes []string) string {
	var b strings.Builder
	for i, n := range nodes {
		if i > 0 {
			b.WriteByte('\n')
		}
		addrs := o.of(n)
		switch {
		case len(addrs) == 0:
			fmt.Fprintf(&b, "%s owns nothing", n)
		case len(addrs) > 8:
			fmt.Fprintf(&b, "%s owns %d VIPs", n, len(addrs))
		default:
			fmt.Fprintf(&b, "%s owns %s", n, join(addrs))
		}
	}
	return b.String()
}

// join lists values, separated by commas.
func join[T fmt.Stringer](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}
