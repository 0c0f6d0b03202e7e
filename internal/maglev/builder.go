package maglev

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
)

// Endpoint is a place that a slot can point to.
type Endpoint struct {
	// Key identifies the endpoint on every node, for as long as it exists.
	Key netip.AddrPort
	// Weight is the endpoint's share relative to that of the others. With 0 it
	// takes no slot but has an index: an endpoint that is not ready yet, or that
	// terminates and still has flows.
	Weight uint16
}

// Builder fills tables and keeps its scratch memory from one to the next. It
// is not safe for concurrent use.
type Builder struct {
	seed    uint64
	members []member
	turns   turns
	taken   []uint64 // a bit per slot: 16 KiB at most, which the L1 cache holds
}

// member is an endpoint that takes slots.
type member struct {
	weight uint16
	index  uint16 // position in the input, plus one
	pos    uint32 // the slot that it asks for next
	skip   uint32 // how far on it goes when that is taken
	phase  uint64 // when its first turn is due
}

// NewBuilder returns a Builder for tables with this seed. All nodes must have
// the same one.
func NewBuilder(seed uint64) *Builder { return &Builder{seed: seed} }

// Build fills the table for the endpoints, sorted by key and distinct, and
// returns it, in the memory of dst if that is large enough. Slots hold the
// position of their endpoint in the input, plus one.
//
// Endpoints with weight 0 count for the size of the table as well: a size that
// followed readiness would change twice for every pod that a rollout replaces,
// and a change of size moves nearly all slots. Endpoints beyond the first
// [MaxEndpoints] are ignored. Without an endpoint that has a weight the table
// is empty.
//
// An endpoint gets its share within one slot and 1/32 of the share. With equal
// weights that is the same number of slots for all, or one more. An endpoint
// whose share is less than one slot may get none.
func (b *Builder) Build(dst []uint16, endpoints []Endpoint) []uint16 {
	endpoints = endpoints[:min(len(endpoints), MaxEndpoints)]
	return b.build(dst, Size(len(endpoints)), endpoints)
}

func (b *Builder) build(dst []uint16, size int, endpoints []Endpoint) []uint16 {
	b.members = b.members[:0]
	for i, e := range endpoints {
		if e.Weight > 0 {
			b.members = append(b.members, newMember(b.seed, size, i, e))
		}
	}
	if len(b.members) == 0 {
		return dst[:0]
	}
	b.turns.start(b.members)
	return b.fill(dst, size)
}

// newMember draws what distinguishes endpoint i: see the package comment.
func newMember(seed uint64, size, i int, e Endpoint) member {
	h := absorb(absorb16(seed, e.Key.Addr().As16()), uint64(e.Key.Port()))
	phase, _ := bits.Mul64(finish(absorb(h, 3)), step(e.Weight))
	return member{
		weight: e.Weight,
		index:  uint16(i + 1),
		pos:    uint32(SlotOf(finish(absorb(h, 1)), size)),
		skip:   uint32(1 + SlotOf(finish(absorb(h, 2)), size-1)),
		phase:  phase,
	}
}

// fill lets the members take turns until no slot is free.
func (b *Builder) fill(dst []uint16, size int) []uint16 {
	words := (size + 63) / 64
	b.taken = slices.Grow(b.taken[:0], words)[:words]
	clear(b.taken)
	dst = slices.Grow(dst[:0], size)[:size]
	for range dst {
		m := b.turns.next()
		pos := m.pos
		for b.taken[pos/64]>>(pos%64)&1 != 0 {
			if pos += m.skip; pos >= uint32(size) {
				pos -= uint32(size)
			}
		}
		b.taken[pos/64] |= 1 << (pos % 64)
		dst[pos] = m.index
		m.pos = pos
	}
	return dst
}

// compare orders members by weight, then by first turn.
func (m member) compare(o member) int {
	return cmp.Or(cmp.Compare(m.weight, o.weight), cmp.Compare(m.phase, o.phase), cmp.Compare(m.index, o.index))
}
