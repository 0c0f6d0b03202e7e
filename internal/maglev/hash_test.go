package maglev

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func tuple(src, dst string, sport, dport uint16, proto uint8) Tuple {
	return Tuple{netip.MustParseAddr(src), netip.MustParseAddr(dst), sport, dport, proto}
}

// The numbers that a BPF program must come to as well.
func TestHashVectors(t *testing.T) {
	for _, tc := range []struct {
		seed  uint64
		tuple Tuple
		want  uint64
	}{
		{0, tuple("0.0.0.0", "0.0.0.0", 0, 0, 0), 0},
		{0, tuple("192.0.2.1", "198.51.100.7", 40000, 80, 6), 0xcfab71efdf49c6bd},
		{0x0123456789abcdef, tuple("192.0.2.1", "198.51.100.7", 40000, 80, 6), 0x875220405e217c9d},
		{0x0123456789abcdef, tuple("192.0.2.1", "198.51.100.7", 40000, 80, 6).Client(), 0x87b624e9be70d921},
		{0, tuple("2001:db8::1", "2001:db8:0:1::7", 40000, 443, 17), 0xaaf782a5ef3dc8ce},
		{0x0123456789abcdef, tuple("2001:db8::1", "2001:db8:0:1::7", 40000, 443, 17), 0xdca2532f0a9fbf62},
		{0x0123456789abcdef, tuple("2001:db8::1", "2001:db8:0:1::7", 40000, 443, 17).Client(), 0x1d2c7ac56b6d52a6},
	} {
		if got := tc.tuple.Hash(tc.seed); got != tc.want {
			t.Errorf("seed %#x, %v: %#016x, want %#016x", tc.seed, tc.tuple, got, tc.want)
		}
	}
}

// wire is the tuple as it is in packets: source, destination, ports, protocol.
func (t Tuple) wire() []byte {
	b := append(t.Src.AsSlice(), t.Dst.AsSlice()...)
	return append(b, byte(t.SrcPort>>8), byte(t.SrcPort), byte(t.DstPort>>8), byte(t.DstPort), t.Proto)
}

// fromWire is its inverse.
func fromWire(b []byte) Tuple {
	n := (len(b) - 5) / 2
	src, _ := netip.AddrFromSlice(b[:n])
	dst, _ := netip.AddrFromSlice(b[n : 2*n])
	b = b[2*n:]
	return Tuple{src, dst, uint16(b[0])<<8 | uint16(b[1]), uint16(b[2])<<8 | uint16(b[3]), b[4]}
}

// The hash is what the words read from the packet give.
func TestHashTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.SampledFrom([]int{13, 37}).Draw(t, "length")
		wire := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "wire")
		var words []uint64
		for b := wire; len(b) > 0; b = b[min(8, len(b)):] {
			words = append(words, wireWord(b[:min(8, len(b))]))
		}
		if got, want := fromWire(wire).Hash(seed), slowHash(seed, words...); got != want {
			t.Fatalf("%x: %#x, want %#x", wire, got, want)
		}
	})
}

// Flipping any bit of the input flips each bit of the hash half of the time.
func TestAvalanche(t *testing.T) {
	const rounds = 3000
	rng := rand.New(rand.NewPCG(7, 11))
	for _, base := range []Tuple{
		tuple("192.0.2.1", "198.51.100.7", 40000, 80, 6),
		tuple("2001:db8::1", "2001:db8:0:1::7", 40000, 443, 17),
	} {
		length := len(base.wire())
		worst := 0.0
		for in := range 8 * length {
			var flips [64]int
			for range rounds {
				b := make([]byte, length)
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				seed := rng.Uint64()
				h := fromWire(b).Hash(seed)
				b[in/8] ^= 1 << (in % 8)
				for d := h ^ fromWire(b).Hash(seed); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, f := range flips {
				bias := math.Abs(float64(f)/rounds - 0.5)
				worst = max(worst, bias)
				// σ is 0.009, and there are 25 600 pairs of bits.
				if bias > 0.05 {
					t.Errorf("%d bytes: bit %d of the input flips bit %d in %d of %d cases", length, in, out, f, rounds)
				}
			}
		}
		t.Logf("%d bytes: worst bias %.4f", length, worst)
	}
}

// traffic is sets of flows as they come: numbers that count up.
var traffic = []struct {
	name string
	flow func(i int) Tuple
}{
	{"one_client", func(i int) Tuple {
		return Tuple{netip.AddrFrom4([4]byte{192, 0, 2, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 9}), uint16(1024 + i), 80, 6}
	}},
	{"every_second_port", func(i int) Tuple {
		return Tuple{netip.AddrFrom4([4]byte{192, 0, 2, byte(i >> 14)}), netip.AddrFrom4([4]byte{10, 0, 0, 9}), uint16(32768 + 2*i), 80, 6}
	}},
	{"clients_with_one_port", func(i int) Tuple {
		return Tuple{netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), netip.AddrFrom4([4]byte{10, 0, 0, 9}), 5060, 5060, 17}
	}},
	{"networks", func(i int) Tuple {
		return Tuple{netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 9}), 0, 0, 6}
	}},
	{"v6_clients", func(i int) Tuple {
		return Tuple{netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 14: byte(i >> 8), 15: byte(i)}), netip.AddrFrom16([16]byte{0: 0xfd, 15: 9}), 0, 0, 6}
	}},
	{"v6_prefixes", func(i int) Tuple {
		return Tuple{netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 6: byte(i >> 8), 7: byte(i), 15: 1}), netip.AddrFrom16([16]byte{0: 0xfd, 15: 9}), 40000, 443, 17}
	}},
}

// chiSquare is the statistic, in standard deviations from its mean, of the
// hypothesis that all counts are the same but for chance.
func chiSquare(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	want := float64(total) / float64(len(counts))
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (float64(c) - want) * (float64(c) - want) / want
	}
	freedom := float64(len(counts) - 1)
	return (chi2 - freedom) / math.Sqrt(2*freedom)
}

// Real traffic spreads over the slots as chance would have it, in the upper half
// of the hash, in the lower, and in the lower within one slot.
func TestUniformity(t *testing.T) {
	const flows = 60_000
	for _, tr := range traffic {
		for _, seed := range []uint64{0, 1, 0xfeedface12345678} {
			t.Run(fmt.Sprintf("%s/%#x", tr.name, seed), func(t *testing.T) {
				upper, lower, within := make([]int, 1021), make([]int, 1021), make([]int, 61)
				for i := range flows {
					h := tr.flow(i).Hash(seed)
					upper[SlotOf(h, len(upper))]++
					lower[SlotOf(h<<32, len(lower))]++
					if SlotOf(h, 10) == 3 {
						within[SlotOf(h<<32, len(within))]++
					}
				}
				for name, c := range map[string][]int{"upper": upper, "lower": lower, "within": within} {
					if z := chiSquare(c); z > 4 {
						t.Errorf("%s half: χ² is %.1f σ above its mean", name, z)
					}
				}
			})
		}
	}
}

// The slots are intervals of hashes, in order, which [edge] knows the ends of,
// and their lengths differ by one at most.
func TestSlotOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.SampledFrom(sizes[:]), rapid.IntRange(1, 1<<20)).Draw(t, "size")
		i := rapid.IntRange(0, size-1).Draw(t, "slot")
		from, to := edge(i, size), edge(i+1, size)
		low := rapid.Uint64Range(0, 1<<32-1).Draw(t, "lower half")
		if SlotOf(from<<32|low, size) != i || SlotOf((to-1)<<32|low, size) != i {
			t.Fatalf("slot %d of %d does not begin at %d and end at %d", i, size, from, to)
		}
		if length, least := to-from, uint64(1<<32)/uint64(size); length != least && length != least+1 {
			t.Fatalf("slot %d of %d has %d hashes", i, size, length)
		}
	})
	if SlotOf(0, 251) != 0 || SlotOf(math.MaxUint64, 251) != 250 || edge(251, 251) != 1<<32 {
		t.Error("the slots don't cover all hashes")
	}
}

func BenchmarkHash(b *testing.B) {
	for _, tr := range []Tuple{traffic[0].flow(1), traffic[4].flow(1)} {
		b.Run(fmt.Sprintf("v4=%v", tr.Src.Is4()), func(b *testing.B) {
			sum := uint64(0)
			for b.Loop() {
				sum += tr.Hash(sum)
			}
		})
	}
}
