package maglev

import (
	"math/big"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowTable is the pseudocode of the paper (§3.4), with whole permutations,
// where each turn goes to whom it is due first instead of round robin.
func slowTable(seed uint64, endpoints []Endpoint) []uint16 {
	var members []slowMember
	for i, e := range endpoints {
		if e.Weight > 0 {
			members = append(members, newSlowMember(seed, Size(len(endpoints)), i, e))
		}
	}
	if len(members) == 0 {
		return nil
	}
	entry := make([]uint16, Size(len(endpoints)))
	for range entry {
		m := &members[0]
		for i := range members {
			if members[i].due() < m.due() {
				m = &members[i]
			}
		}
		c := m.permutation[m.next]
		for entry[c] != 0 {
			m.next++
			c = m.permutation[m.next]
		}
		entry[c] = m.index
		m.next++
		m.turns++
	}
	return entry
}

type slowMember struct {
	index       uint16
	permutation []int
	next        int
	phase, step uint64
	turns       uint64
}

func (m *slowMember) due() uint64 { return m.phase + m.turns*m.step }

func newSlowMember(seed uint64, size, i int, e Endpoint) slowMember {
	a := e.Key.Addr().As16()
	draw := func(k uint64) uint64 {
		return slowHash(seed, wireWord(a[:8]), wireWord(a[8:]), uint64(e.Key.Port()), k)
	}
	m := slowMember{index: uint16(i + 1), step: (1 << 46) / uint64(e.Weight)}
	phase := new(big.Int).Mul(new(big.Int).SetUint64(draw(3)), new(big.Int).SetUint64(m.step))
	m.phase = phase.Rsh(phase, 64).Uint64()
	offset := int(draw(1) >> 32 * uint64(size) >> 32)
	skip := int(draw(2)>>32*uint64(size-1)>>32) + 1
	for j := range size {
		m.permutation = append(m.permutation, (offset+j*skip)%size)
	}
	return m
}

// slowHash is the hash as its documentation puts it.
func slowHash(seed uint64, words ...uint64) uint64 {
	h := seed
	for _, w := range words {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	return h
}

// wireWord is the number with these bytes, the least significant one first.
func wireWord(bytes []byte) uint64 {
	w := uint64(0)
	for i, b := range bytes {
		w += uint64(b) << (8 * i)
	}
	return w
}

// drawEndpoints draws a sorted list of distinct endpoints.
func drawEndpoints(t *rapid.T, most int) []Endpoint {
	weight := rapid.OneOf(
		rapid.Just[uint16](1),
		rapid.Uint16Range(0, 5),
		rapid.Uint16Range(90, 110),
		rapid.Uint16(),
	)
	if rapid.Bool().Draw(t, "equal") {
		weight = rapid.Just(rapid.Uint16Range(1, 65535).Draw(t, "weight"))
	}
	addr := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		port := rapid.SampledFrom([]uint16{80, 8080}).Draw(t, "port")
		if rapid.Bool().Draw(t, "v6") {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0: 0xfd, 15: rapid.Byte().Draw(t, "host")}), port)
		}
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, rapid.Byte().Draw(t, "net"), rapid.Byte().Draw(t, "host")}), port)
	})
	n := rapid.IntRange(0, most).Draw(t, "n")
	keys := rapid.SliceOfNDistinct(addr, n, n, rapid.ID).Draw(t, "keys")
	slices.SortFunc(keys, netip.AddrPort.Compare)
	var endpoints []Endpoint
	for _, k := range keys {
		endpoints = append(endpoints, Endpoint{Key: k, Weight: weight.Draw(t, "w")})
	}
	return endpoints
}

// The fast table and the paper's are the same, whatever was built before.
func TestTableTwin(t *testing.T) {
	builders := map[uint64]*Builder{}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.OneOf(rapid.Just[uint64](0), rapid.Uint64()).Draw(t, "seed")
		if builders[seed] == nil {
			builders[seed] = NewBuilder(seed)
		}
		endpoints := drawEndpoints(t, 70)
		got, want := builders[seed].Build(nil, endpoints), slowTable(seed, endpoints)
		if !slices.Equal(got, want) {
			t.Fatalf("%d endpoints: got %v, want %v", len(endpoints), got, want)
		}
	})
}

// So they are at a size that takes the slow one long.
func TestLargeTableTwin(t *testing.T) {
	endpoints := cluster(200)
	for i := range endpoints {
		endpoints[i].Weight = uint16(1 + i%3)
	}
	if !slices.Equal(NewBuilder(3).Build(nil, endpoints), slowTable(3, endpoints)) {
		t.Error("the tables differ")
	}
}
