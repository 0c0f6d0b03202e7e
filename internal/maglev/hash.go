package maglev

import (
	"encoding/binary"
	"net/netip"
)

// The multipliers of the hash: odd, half of the bits set, well known from
// splitmix64.
const (
	absorbMul = 0x9e3779b97f4a7c15
	finishMul = 0xbf58476d1ce4e5b9
)

// absorb mixes one 64-bit word into the state h. For a given h it is a
// bijection of the word and the other way round: nothing gets lost.
func absorb(h, word uint64) uint64 {
	h = (h ^ word) * absorbMul
	return h ^ h>>32
}

// finish makes every bit of the result depend on every bit of the state.
func finish(h uint64) uint64 {
	h *= finishMul
	return h ^ h>>32
}

// Tuple names a flow as the director sees it: from the client to the VIP.
// Addresses are of one family, unmapped and without zone; ports are in host
// byte order and zero for protocols without ports.
type Tuple struct {
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	Proto            uint8 // IANA protocol number
}

// Client is the tuple that stands for all flows of a client to a VIP with this
// protocol, for session affinity by client address.
func (t Tuple) Client() Tuple {
	t.SrcPort, t.DstPort = 0, 0
	return t
}

// Hash is the flow hash that BPF programs compute as well. It absorbs 64-bit
// words that a program on a little-endian machine gets by plain loads from the
// packet, that is, the bytes as they are on the wire, the first one being the
// least significant:
//
//	IPv4   source (4 bytes), destination (4)
//	IPv6   source (8), source (8), destination (8), destination (8)
//	both   source port (2), destination port (2), protocol (1), zero (3)
//
// State h starts as seed; for each word h = (h ^ word) * 0x9e3779b97f4a7c15,
// h ^= h >> 32; at the end h *= 0xbf58476d1ce4e5b9, h ^= h >> 32. All
// arithmetic is modulo 2⁶⁴. The upper 32 bits choose the slot ([SlotOf]), the
// lower 32 are free for other uses, such as the entropy in an outer UDP source
// port.
func (t Tuple) Hash(seed uint64) uint64 {
	h := seed
	if t.Src.Is4() {
		src, dst := t.Src.As4(), t.Dst.As4()
		h = absorb(h, uint64(binary.LittleEndian.Uint32(src[:]))|uint64(binary.LittleEndian.Uint32(dst[:]))<<32)
	} else {
		h = absorb16(absorb16(h, t.Src.As16()), t.Dst.As16())
	}
	var ports [8]byte
	binary.BigEndian.PutUint16(ports[0:], t.SrcPort)
	binary.BigEndian.PutUint16(ports[2:], t.DstPort)
	ports[4] = t.Proto
	return finish(absorb(h, binary.LittleEndian.Uint64(ports[:])))
}

// absorb16 mixes the 16 bytes of an IPv6 address into h, as two words.
func absorb16(h uint64, a [16]byte) uint64 {
	h = absorb(h, binary.LittleEndian.Uint64(a[:8]))
	return absorb(h, binary.LittleEndian.Uint64(a[8:]))
}

// SlotOf maps a hash to a slot of a table, or a row of a history, of that size,
// 1 … 2³²: the upper half of the hash, as a fraction of 2³², times the size.
// That is a shift, a multiplication and a shift where a remainder would be a
// division, and no less even: slots differ by one hash in 2³². Above all, each
// slot stands for an interval of hashes, so that it is known which slots of a
// table of another size its flows have been in: see [History].
func SlotOf(hash uint64, size int) int {
	return int(hash >> 32 * uint64(size) >> 32)
}
