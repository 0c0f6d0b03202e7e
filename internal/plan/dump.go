package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// String is the whole state as text for people and golden files, one line per
// entry of a map. Two states with the same text make the programs do the same,
// except that of tables and histories there is only what they come to.
func (s *State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "self %d seed %#x macs%s%s\n", s.Self, s.Seed, list(s.MACs), prefixed(" routers", list(s.Routers)))
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "node %d %s %s", n.ID, n.Name, n.Mode)
		if n.Mode != ModeLocal {
			fmt.Fprintf(&b, " mac %s mtu %d", n.MAC, n.MTU)
			if n.OnSegment {
				b.WriteString(" on-segment")
			}
		}
		fmt.Fprintf(&b, "%s\n", prefixed(" addresses", list(n.Addrs)))
	}
	for _, v := range s.VIPs {
		fmt.Fprintf(&b, "vip %d %s", v.ID, v.Addr)
		if v.Marks[0].IsValid() {
			fmt.Fprintf(&b, " marks%s", list(v.Marks[:]))
		}
		if v.DSCP != 0 {
			fmt.Fprintf(&b, " dscp %d", v.DSCP)
		}
		b.WriteByte('\n')
	}
	for i := range s.Services {
		s.Services[i].dump(&b)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "problem %s\n", p)
	}
	fmt.Fprintf(&b, "last node %d vip %d service %d endpoint %d\n", s.IDs.Node, s.IDs.VIP, s.IDs.Service, s.IDs.Endpoint)
	return b.String()
}

func (s *Service) dump(b *strings.Builder) {
	fmt.Fprintf(b, "service %d %s/%s %s", s.ID, netip.AddrPortFrom(s.VIP, s.Port), s.Protocol, s.Name)
	for i, name := range flagNames {
		if s.Flags>>i&1 != 0 {
			b.WriteString(" " + name)
		}
	}
	if s.AffinityTimeout > 0 {
		fmt.Fprintf(b, " %s", s.AffinityTimeout)
	}
	fmt.Fprintf(b, "%s\n", prefixed(" sources", list(s.Sources)))
	counts := make([]int, len(s.Endpoints)+1)
	for _, i := range s.History.Table.Slots {
		counts[i]++
	}
	for i, e := range s.Endpoints {
		fmt.Fprintf(b, "  endpoint %d %s node %d", e.ID, e.Addr, e.Node)
		switch {
		case e.Active:
			fmt.Fprintf(b, " slots %d", counts[i+1])
		case e.Usable:
			b.WriteString(" serving")
		default:
			b.WriteString(" not-ready")
		}
		b.WriteByte('\n')
	}
	for _, e := range s.Retired {
		fmt.Fprintf(b, "  retired %d %s node %d\n", e.ID, e.Addr, e.Node)
	}
	if len(s.History.Table.Slots) > 0 {
		fmt.Fprintf(b, "  table %d sum %08x\n", len(s.History.Table.Slots), sum(s.History.Table.Slots))
	}
	if len(s.History.Rows) > 0 {
		fmt.Fprintf(b, "  rows %d%s\n", len(s.History.Rows), depths(s.History.Rows))
	}
}

// sum is the FNV-1a hash of the slots: tables in golden files differ if and
// only if that differs, but for one in four milliards.
func sum(slots []uint16) uint32 {
	h := uint32(2166136261)
	for _, s := range slots {
		h = (h ^ uint32(s)) * 16777619
	}
	return h
}

// depths says how many rows have how many previous endpoints.
func depths(rows []maglev.Row) string {
	var counts [maglev.Depth + 1]int
	for _, r := range rows {
		n := 0
		for n < maglev.Depth && r.Prev[n] != 0 {
			n++
		}
		counts[n]++
	}
	var b strings.Builder
	for n, c := range counts {
		if c > 0 {
			fmt.Fprintf(&b, " depth %d: %d", n, c)
		}
	}
	return b.String()
}

func list[T any](items []T) string {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, " %v", it)
	}
	return b.String()
}

func prefixed(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}
