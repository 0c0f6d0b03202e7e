package convert

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// element is a usable element of spec.addresses.
type element struct {
	lb.Range
	field string
}

// parsedPool is a pool with where its ranges come from.
type parsedPool struct {
	object   *v1alpha1.AddressPool
	elements []element
}

// convertPools converts the pools: every element that is wrong is refused
// alone. The ranges keep the order of the object.
func (c *converter) convertPools(pools []*v1alpha1.AddressPool) []lb.Pool {
	var out []lb.Pool
	var parsed []parsedPool
	for _, p := range pools {
		pool := lb.Pool{
			Name:       p.Name,
			AutoAssign: p.Spec.AutoAssign == nil || *p.Spec.AutoAssign,
			Priority:   p.Spec.Priority,
		}
		r := c.report("AddressPool", p)
		pp := parsedPool{object: p}
		for i, s := range p.Spec.Addresses {
			field := fmt.Sprintf("spec.addresses[%d]", i)
			rng, err := parseRange(s)
			if err != nil {
				r.refused(lb.PoolInvalid, field, "%v", err)
				continue
			}
			pool.Ranges = append(pool.Ranges, rng)
			pp.elements = append(pp.elements, element{rng, field})
		}
		out = append(out, pool)
		parsed = append(parsed, pp)
	}
	slices.SortFunc(parsed, func(a, b parsedPool) int { return older(a.object, b.object) })
	c.reportOverlaps(parsed)
	c.reportNodesInPools(parsed)
	return out
}

// reportOverlaps reports, on the younger pool, what it shares with an older
// one. Both keep the addresses: the first by name is an address's pool.
func (c *converter) reportOverlaps(pools []parsedPool) {
	for i, young := range pools {
		r := c.report("AddressPool", young.object)
		for _, old := range pools[:i] {
			for _, e := range young.elements {
				for _, o := range old.elements {
					if e.Overlaps(o.Range) {
						r.warned(lb.PoolOverlap, e.field, "%s is in AddressPool %s too: leave it out of one of them",
							common(e.Range, o.Range), old.object.Name)
					}
				}
			}
		}
	}
}

// common is what two overlapping ranges share.
func common(a, b lb.Range) lb.Range {
	if a.From.Less(b.From) {
		a.From = b.From
	}
	if b.To.Less(a.To) {
		a.To = b.To
	}
	return a
}

// reportNodesInPools warns of pools that cover machines: such an address is
// never given away, but it is a sign that the range is wrong.
func (c *converter) reportNodesInPools(pools []parsedPool) {
	addrs := make([]netip.Addr, 0, len(c.nodeAddr))
	for a := range c.nodeAddr {
		addrs = append(addrs, a)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	for _, p := range pools {
		r := c.report("AddressPool", p.object)
		for _, e := range p.elements {
			// The node addresses in a range are neighbours in the sorted list.
			i, _ := slices.BinarySearchFunc(addrs, e.From, netip.Addr.Compare)
			n := 0
			for i+n < len(addrs) && e.Contains(addrs[i+n]) {
				n++
			}
			if n > 0 {
				r.warned(lb.AddressIsNode, e.field, "%s has the addresses of %d nodes, %s of %s first: they are never given to a service",
					e.Range, n, addrs[i], c.nodeAddr[addrs[i]])
			}
		}
	}
}
