package membership

import (
	"slices"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// Bounds of a datagram's payload in bytes. The smaller is what one handover
// with the longest names needs, whatever the MTU; the larger is what a
// receiver's buffer holds.
const (
	minPayload = 640
	maxPayload = 60000
)

// Bytes of IP and UDP headers.
const (
	overheadIPv4 = 20 + 8
	overheadIPv6 = 40 + 8
)

// payload is how many bytes of UDP payload fit into one frame of l.
func (l Link) payload() int {
	overhead := overheadIPv6
	if l.Addr.Is4() {
		overhead = overheadIPv4
	}
	return min(max(l.MTU-overhead, minPayload), maxPayload)
}

// part is the share of a heartbeat that goes into one datagram.
type part struct {
	heard     []uint32
	claims    []election.Claim
	handovers []election.Handover
}

// split appends to dst the shares of a heartbeat that each fit into room bytes
// (a payload less the fixed fields, the name and the code). There is one at
// least. Handovers come first: somebody waits for them. The shares are
// sub-slices of what is given: claims are dealt out in the order of their
// addresses, as the election wants to hear them, and are sorted by epoch within
// a share, as the wire has them.
func split(dst []part, room int, heard []uint32, b election.Beat) []part {
	claims, handovers := b.Claims, b.Handovers
	slices.SortFunc(claims, func(a, b election.Claim) int { return a.Addr.Compare(b.Addr) })
	seen := make(map[uint64]bool) // epochs of this share
	for {
		var p part
		left := room
		n := 0
		for n < len(handovers) && handoverLen(handovers[n]) <= left {
			left -= handoverLen(handovers[n])
			n++
		}
		p.handovers, handovers = handovers[:n], handovers[n:]

		n = min(left/heardLen, len(heard))
		left -= n * heardLen
		p.heard, heard = heard[:n], heard[n:]

		n = 0
		clear(seen)
		for n < len(claims) {
			size := claims[n].Addr.BitLen() / 8
			if !seen[claims[n].Epoch] {
				size += groupLen
			}
			if size > left {
				break
			}
			left -= size
			seen[claims[n].Epoch] = true
			n++
		}
		p.claims, claims = claims[:n], claims[n:]
		slices.SortFunc(p.claims, compareEpochs)

		dst = append(dst, p)
		if len(claims)+len(handovers)+len(heard) == 0 || len(dst) == maxParts {
			return dst
		}
	}
}

// canonical copies b into dst's memory in the form that the wire has: addresses
// unmapped and without zone, entries that no wire form exists for left out.
func canonical(dst *election.Beat, b election.Beat) {
	dst.Refusal = b.Refusal
	dst.Claims = append(dst.Claims[:0], b.Claims...)
	dst.Handovers = append(dst.Handovers[:0], b.Handovers...)
	for n := range dst.Claims {
		c := &dst.Claims[n]
		c.Addr = c.Addr.Unmap().WithZone("")
	}
	for n := range dst.Handovers {
		h := &dst.Handovers[n]
		h.Addr = h.Addr.Unmap().WithZone("")
	}
	dst.Claims = slices.DeleteFunc(dst.Claims, func(c election.Claim) bool { return !c.Addr.IsValid() })
	dst.Handovers = slices.DeleteFunc(dst.Handovers, func(h election.Handover) bool {
		return !h.Addr.IsValid() || !validName(h.To)
	})
}
