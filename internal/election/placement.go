package election

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
)

// nameSeed is FNV-1a of a node's name.
func nameSeed(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of splitmix64: every bit of x touches every bit of the
// result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rank is the rendezvous hash of a node (by its nameSeed) and an address. The
// higher one is the better one. It is the same on every node.
func rank(seed uint64, a netip.Addr) uint64 {
	b := a.As16()
	return mix(mix(seed^binary.BigEndian.Uint64(b[:8])) ^ binary.BigEndian.Uint64(b[8:]))
}

// outranks reports whether a is better than b for the address, whatever else
// they own.
func outranks(a, b *member, addr netip.Addr) bool {
	return cmp.Or(cmp.Compare(rank(b.seed, addr), rank(a.seed, addr)), cmp.Compare(a.name, b.name)) < 0
}

// preferred reports whether a should get the orphan v before b does: fewer
// VIPs first, then the better rank.
func preferred(a, b *member, v *vip) bool {
	if ta, tb := tierOf(a, v), tierOf(b, v); ta != tb {
		return ta < tb
	}
	if a.planned != b.planned {
		return a.planned < b.planned
	}
	return outranks(a, b, v.addr)
}

// place returns who should claim the orphan v and how long after it became one
// this node may. No best one means that nobody may own it.
func (m *Machine) place(v *vip) (best *member, wait Time) {
	others := 0
	for _, n := range m.members {
		if tierOf(n, v) == barred {
			continue
		}
		if best == nil || preferred(n, best, v) {
			best = n
		}
		if n == m.me {
			continue
		}
		others++
		if preferred(n, m.me, v) {
			wait += m.cfg.DeadTime
		}
	}
	if m.unheard() {
		// A claim that nobody hears settles nothing: leave it to the others.
		wait = Time(others) * m.cfg.DeadTime
	}
	return best, wait
}

// move is one step of a rebalancing plan.
type move struct {
	v        *vip
	from, to *member
}

// plan returns at most limit moves that even out the planned loads: always one
// VIP from the most to the least loaded member that may have it, until no two
// differ by more than one. All nodes with the same view plan the same.
func plan(members []*member, vips []*vip, limit int) []move {
	load := make(map[*member]int, len(members))
	held := make(map[*member][]*vip, len(members))
	order := make([]*member, 0, len(members)) // most loaded first, then by name
	for _, n := range members {
		if n.alive {
			load[n] = n.planned
			order = append(order, n)
		}
	}
	for _, v := range vips {
		if v.owner != nil && v.target == nil {
			held[v.owner] = append(held[v.owner], v)
		}
	}
	next := func() (move, bool) {
		slices.SortStableFunc(order, func(a, b *member) int {
			return cmp.Or(cmp.Compare(load[b], load[a]), cmp.Compare(a.name, b.name))
		})
		for _, from := range order {
			for _, to := range leastFirst(order, load) {
				if load[from]-load[to] <= 1 {
					break
				}
				for i, v := range held[from] {
					if to.hearsMe && tierOf(to, v) == eligible {
						held[from] = slices.Delete(held[from], i, i+1)
						return move{v, from, to}, true
					}
				}
			}
		}
		return move{}, false
	}
	var moves []move
	for len(moves) < limit {
		mv, ok := next()
		if !ok {
			break
		}
		load[mv.from]--
		load[mv.to]++
		moves = append(moves, mv)
	}
	return moves
}

// leastFirst returns the members by rising load, ties by name.
func leastFirst(members []*member, load map[*member]int) []*member {
	return slices.SortedStableFunc(slices.Values(members), func(a, b *member) int {
		return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(a.name, b.name))
	})
}
