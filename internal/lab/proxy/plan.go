package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Frontend is an address, protocol and port to serve, with where it goes.
type Frontend struct {
	Addr      netip.AddrPort
	Protocol  lb.Protocol
	Endpoints []netip.AddrPort
}

// slots is how many rows an endpoint group has. A packet takes a random one; 60
// divides evenly among 1 to 6 endpoints, and fairly enough among more.
const slots = 60

// plan is the contents of the two maps of one address family.
type plan struct {
	frontends []frontend
	groups    [][]netip.AddrPort // group id is the index; sorted endpoints
}

type frontend struct {
	addr     netip.AddrPort
	protocol lb.Protocol
	group    uint32
}

// makePlan selects the frontends of one family and gives those with the same
// endpoints one group. A frontend without endpoints is left out, and so are
// endpoints of the other family.
func makePlan(frontends []Frontend, is4 bool) plan {
	var p plan
	ids := make(map[string]uint32)
	for _, f := range frontends {
		if f.Addr.Addr().Is4() != is4 {
			continue
		}
		var endpoints []netip.AddrPort
		for _, e := range f.Endpoints {
			if e.Addr().Is4() == is4 {
				endpoints = append(endpoints, e)
			}
		}
		if len(endpoints) == 0 {
			continue
		}
		slices.SortFunc(endpoints, netip.AddrPort.Compare)
		endpoints = slices.Compact(endpoints)
		key := fmt.Sprint(endpoints)
		id, ok := ids[key]
		if !ok {
			id = uint32(len(p.groups))
			ids[key] = id
			p.groups = append(p.groups, endpoints)
		}
		p.frontends = append(p.frontends, frontend{f.Addr, f.Protocol, id})
	}
	slices.SortFunc(p.frontends, func(a, b frontend) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.protocol, b.protocol))
	})
	return p
}

// slot returns the endpoint in a row of a group.
func (p plan) slot(group uint32, row int) netip.AddrPort {
	g := p.groups[group]
	return g[row%len(g)]
}

func (p plan) String() string {
	var b strings.Builder
	for _, f := range p.frontends {
		fmt.Fprintf(&b, "%s %s -> group %d\n", f.protocol, f.addr, f.group)
	}
	for i, g := range p.groups {
		fmt.Fprintf(&b, "group %d:", i)
		for _, e := range g {
			fmt.Fprintf(&b, " %s", e)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
