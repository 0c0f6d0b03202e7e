package maglev

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// cluster is n endpoints of weight 1 as a CNI with a /24 per node numbers them,
// 10 to a node.
func cluster(n int) []Endpoint {
	endpoints := make([]Endpoint, n)
	for i := range endpoints {
		node := i / 10
		addr := netip.AddrFrom4([4]byte{10, byte(244 + node>>8), byte(node), byte(2 + i%10)})
		endpoints[i] = Endpoint{Key: netip.AddrPortFrom(addr, 8080), Weight: 1}
	}
	return endpoints
}

// counts is the number of slots by endpoint.
func counts(slots []uint16, n int) []int {
	c := make([]int, n)
	for _, s := range slots {
		c[s-1]++
	}
	return c
}

// A node with another version must compute the same tables: these sums change
// only together with the seed in every cluster.
func TestTablesNeverChange(t *testing.T) {
	mixed := []Endpoint{
		{netip.MustParseAddrPort("10.0.0.1:80"), 3},
		{netip.MustParseAddrPort("[fd00::1]:80"), 1},
		{netip.MustParseAddrPort("[fd00::1]:443"), 65535},
	}
	for _, tc := range []struct {
		seed      uint64
		endpoints []Endpoint
		size      int
		sum       uint32
	}{
		{0, cluster(1), 251, 0x45780208},
		{1, cluster(7), 251, 0x8267019c},
		{1, cluster(8), 1021, 0x7474f2ee},
		{0x0123456789abcdef, cluster(100), 4093, 0xb3d84bda},
		{2, mixed, 251, 0x82e11248},
	} {
		slots := NewBuilder(tc.seed).Build(nil, tc.endpoints)
		var bytes []byte
		for _, s := range slots {
			bytes = binary.LittleEndian.AppendUint16(bytes, s)
		}
		if sum := crc32.ChecksumIEEE(bytes); len(slots) != tc.size || sum != tc.sum {
			t.Errorf("seed %#x, %d endpoints: %d slots with sum %#08x, want %d with %#08x",
				tc.seed, len(tc.endpoints), len(slots), sum, tc.size, tc.sum)
		}
	}
}

func TestSize(t *testing.T) {
	for _, tc := range []struct{ n, size int }{
		{-1, 0},
		{0, 0},
		{1, 251},
		{7, 251},
		{8, 1021},
		{31, 1021},
		{32, 2039},
		{600, 32749},
		{4095, 131071},
		{4096, 131071},
		{MaxEndpoints, 131071},
	} {
		if got := Size(tc.n); got != tc.size {
			t.Errorf("Size(%d) = %d, want %d", tc.n, got, tc.size)
		}
	}
	for _, s := range sizes {
		for d := 2; d*d <= s; d++ {
			if s%d == 0 {
				t.Errorf("%d is no prime: %d divides it", s, d)
			}
		}
	}
}

func TestNoMembers(t *testing.T) {
	b := NewBuilder(1)
	dst := make([]uint16, 7, 500)
	for _, endpoints := range [][]Endpoint{nil, {}, {{Key: netip.MustParseAddrPort("10.0.0.1:80")}}} {
		if got := b.Build(dst, endpoints); len(got) != 0 {
			t.Errorf("Build(%v) has %d slots", endpoints, len(got))
		}
	}
	if got := b.Build(nil, nil); got != nil {
		t.Errorf("Build(nil, nil) = %v", got)
	}
}

// More endpoints than slots for 32 each, than slots, and than indexes.
func TestTooManyEndpoints(t *testing.T) {
	many := make([]Endpoint, MaxEndpoints+2)
	for i := range many {
		many[i] = Endpoint{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 80), 1}
	}
	slots := NewBuilder(1).Build(nil, many)
	for i, c := range counts(slots, len(many)) {
		if i < MaxEndpoints && c != 2 && c != 3 || i >= MaxEndpoints && c != 0 {
			t.Fatalf("endpoint %d has %d slots of %d", i, c, len(slots))
		}
	}
}

// The memory of dst is used, that of the Builder as well.
func TestBuildDoesNotAllocate(t *testing.T) {
	b, dst, endpoints := NewBuilder(1), make([]uint16, 0, 1021), cluster(10)
	for i := range endpoints {
		endpoints[i].Weight = uint16(1 + i%3)
	}
	b.Build(dst, endpoints)
	if n := testing.AllocsPerRun(10, func() { b.Build(dst, endpoints) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What an endpoint gets does not depend on where in the input it stands.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBuilder(rapid.Uint64().Draw(t, "seed"))
		sorted := drawEndpoints(t, 40)
		shuffled := rapid.Permutation(sorted).Draw(t, "shuffled")
		x, y := b.Build(nil, sorted), b.Build(nil, shuffled)
		for i := range x {
			if a, b := sorted[x[i]-1], shuffled[y[i]-1]; a != b {
				t.Fatalf("slot %d: %v or %v", i, a, b)
			}
		}
	})
}

// Every endpoint gets its share within one slot and n/size of the share, as the
// turns that were cut off at the end are less than n; with equal weights all get
// the same or one more.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		endpoints := drawEndpoints(t, 100)
		slots := NewBuilder(rapid.Uint64().Draw(t, "seed")).Build(nil, endpoints)
		if len(slots) == 0 {
			return
		}
		total, members, equal := 0, 0, true
		var weight uint16
		for _, e := range endpoints {
			if e.Weight > 0 {
				members++
				total += int(e.Weight)
				equal = equal && (weight == 0 || weight == e.Weight)
				weight = e.Weight
			}
		}
		for i, c := range counts(slots, len(endpoints)) {
			if endpoints[i].Weight == 0 && c != 0 {
				t.Fatalf("an endpoint without weight has %d slots", c)
			}
			share := float64(len(slots)) * float64(endpoints[i].Weight) / float64(total)
			bound := 1 + share*float64(members)/float64(len(slots))
			if math.Abs(float64(c)-share) > bound {
				t.Fatalf("endpoint %d has %d slots, share %.2f", i, c, share)
			}
			if low := len(slots) / members; equal && endpoints[i].Weight > 0 && c != low && c != low+1 {
				t.Fatalf("endpoint %d has %d slots of %d, %d endpoints", i, c, len(slots), members)
			}
		}
	})
}

// The slots that are left over after the last full round go to nobody in
// particular: over many seeds, first and last in the input get the same.
func TestNoBiasByPosition(t *testing.T) {
	endpoints, extra := cluster(10), make([]int, 10)
	const seeds = 2000
	for seed := range uint64(seeds) {
		slots := NewBuilder(seed).Build(nil, endpoints)
		for i, c := range counts(slots, len(endpoints)) {
			extra[i] += c - len(slots)/len(endpoints)
		}
	}
	// 1021 = 10·102 + 1: one extra slot per table, σ = √(2000·0.1·0.9) = 13.4.
	for i, got := range extra {
		if d := math.Abs(float64(got) - seeds/10); d > 4*13.4 {
			t.Errorf("endpoint %d got the extra slot %d times of %d", i, got, seeds)
		}
	}
}

// The weights' proportions count, not the numbers.
func TestWeightsAreRelative(t *testing.T) {
	b := NewBuilder(9)
	one, many := cluster(20), cluster(20)
	for i := range one {
		one[i].Weight = uint16(1 + i%4)
		many[i].Weight = 1000 * one[i].Weight
	}
	if x, y := b.Build(nil, one), b.Build(nil, many); !slices.Equal(x, y) {
		t.Errorf("%d of %d slots differ", moved(x, one, y, many), len(x))
	}
}

// moved is the number of hashes in 2¹⁶ that change their endpoint.
func moved(x []uint16, from []Endpoint, y []uint16, to []Endpoint) int {
	n := 0
	for i := range uint64(1 << 16) {
		if h := i << 48; from[x[SlotOf(h, len(x))]-1].Key != to[y[SlotOf(h, len(y))]-1].Key {
			n++
		}
	}
	return n
}

// Adding, removing or reweighting one of ten endpoints moves what it must and
// on average less than 4 % more.
func TestDisruption(t *testing.T) {
	const n, seeds = 10, 50
	for _, tc := range []struct {
		name   string
		change func([]Endpoint) []Endpoint
		must   float64 // share of the hashes
	}{
		{"remove", func(e []Endpoint) []Endpoint { return slices.Delete(e, 4, 5) }, 1. / n},
		{"add", func(e []Endpoint) []Endpoint {
			return append(e, Endpoint{netip.MustParseAddrPort("10.244.9.2:8080"), 1})
		}, 1. / (n + 1)},
		{"drain", func(e []Endpoint) []Endpoint { e[7].Weight = 0; return e }, 1. / n},
		{"double", func(e []Endpoint) []Endpoint { e[7].Weight = 2; return e }, 2./(n+1) - 1./n},
		{"nothing", func(e []Endpoint) []Endpoint { return e }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			total := 0
			for seed := range uint64(seeds) {
				b := NewBuilder(seed)
				from, to := cluster(n), tc.change(cluster(n))
				total += moved(b.Build(nil, from), from, b.Build(nil, to), to)
			}
			share := float64(total) / (seeds << 16)
			if share < tc.must-0.002 || share > tc.must+0.04 || tc.must == 0 && total > 0 {
				t.Errorf("%.2f %% moved, %.2f %% must", 100*share, 100*tc.must)
			}
		})
	}
}

// Different seeds give unrelated tables.
func TestSeeds(t *testing.T) {
	e := cluster(10)
	x := NewBuilder(1).Build(nil, e)
	for _, seed := range []uint64{0, 2, 3, 1 << 63, rand.New(rand.NewPCG(1, 2)).Uint64()} {
		share := float64(moved(x, e, NewBuilder(seed).Build(nil, e), e)) / (1 << 16)
		if share < 0.85 || share > 0.95 {
			t.Errorf("seeds 1 and %#x: %.0f %% differ, want 90 %%", seed, 100*share)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 100, 600, 4000} {
		for _, weights := range []int{1, 2, n} {
			b.Run(fmt.Sprintf("%d_endpoints_%d_weights", n, weights), func(b *testing.B) {
				endpoints := cluster(n)
				for i := range endpoints {
					endpoints[i].Weight = uint16(1 + i%weights)
				}
				builder, dst := NewBuilder(1), []uint16(nil)
				b.ReportAllocs()
				for b.Loop() {
					dst = builder.Build(dst, endpoints)
				}
			})
		}
	}
}
