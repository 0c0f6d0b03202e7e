package membership

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// datagram is a received heartbeat. Its slices are parts of the bytes that it
// was parsed from.
type datagram struct {
	authentic bool
	keyID     keyID
	instance  uint64
	started   uint64
	sequence  uint64
	part      uint16
	parts     uint16
	mac       lb.MAC
	refusal   lb.Refusal
	node      []byte
	heard     []byte // heardLen each
	groups    int    // of claims
	handovers int
	body      []byte // claims and handovers, not looked at yet
	signed    []byte // what the tag is over
	tag       []byte // tagLen, or nil when not authentic
}

// parse takes the envelope of a datagram apart, without looking at what the
// sender claims: that is for [datagram.beat], after the sender has been
// authenticated. All lengths and counts are checked against the bytes that
// there are.
func parse(b []byte) (datagram, Drop) {
	switch {
	case len(b) < len(magic)+1 || string(b[:len(magic)]) != magic:
		return datagram{}, Malformed
	case b[len(magic)] != version:
		return datagram{}, Version
	case len(b) < headerLen || b[offFlags]&^flagAuthentic != 0:
		return datagram{}, Malformed
	}
	d := datagram{
		authentic: b[offFlags]&flagAuthentic != 0,
		keyID:     keyID(b[offKeyID:offInstance]),
		instance:  binary.BigEndian.Uint64(b[offInstance:]),
		started:   binary.BigEndian.Uint64(b[offStarted:]),
		sequence:  binary.BigEndian.Uint64(b[offSequence:]),
		part:      binary.BigEndian.Uint16(b[offPart:]),
		parts:     binary.BigEndian.Uint16(b[offParts:]),
		mac:       lb.MAC(b[offMAC:offRefusal]),
		groups:    int(binary.BigEndian.Uint16(b[offGroupCount:])),
		handovers: int(binary.BigEndian.Uint16(b[offHandoverCount:])),
		signed:    b,
	}
	if d.authentic {
		if len(b) < headerLen+tagLen {
			return datagram{}, Malformed
		}
		d.signed, d.tag = b[:len(b)-tagLen], b[len(b)-tagLen:]
	} else if d.keyID != (keyID{}) {
		return datagram{}, Malformed
	}
	if d.part >= d.parts || d.parts > maxParts || int(b[offRefusal]) >= len(wireRefusals) {
		return datagram{}, Malformed
	}
	d.refusal = wireRefusals[b[offRefusal]]
	rest := d.signed[headerLen:]
	nameLen := int(b[offNameLen])
	heardBytes := heardLen * int(binary.BigEndian.Uint16(b[offHeardCount:]))
	if len(rest) < nameLen+heardBytes || !validName(rest[:nameLen]) {
		return datagram{}, Malformed
	}
	d.node, d.heard, d.body = rest[:nameLen], rest[nameLen:nameLen+heardBytes], rest[nameLen+heardBytes:]
	if len(d.body) < d.groups*minGroupLen+d.handovers*minHandoverLen {
		return datagram{}, Malformed
	}
	return d, NotDropped
}

// validName reports whether s can be a node's name. It is shown to people and
// written to logs, so it must be printable ASCII without blanks.
func validName[S string | []byte](s S) bool {
	if len(s) == 0 || len(s) > maxName {
		return false
	}
	for n := range len(s) {
		if s[n] <= ' ' || s[n] > '~' {
			return false
		}
	}
	return true
}

// hears reports whether the sender lists the instance among those it hears.
func (d *datagram) hears(instance uint64) bool {
	for b := d.heard; len(b) >= heardLen; b = b[heardLen:] {
		if binary.BigEndian.Uint32(b) == uint32(instance) {
			return true
		}
	}
	return false
}

// beat decodes what the sender says about the election. It reports false when
// the body is not exactly what the counts promise.
func (d *datagram) beat() (election.Beat, bool) {
	beat := election.Beat{Refusal: d.refusal}
	if d.handovers > 0 {
		beat.Handovers = make([]election.Handover, d.handovers)
	}
	b := d.body
	ok := true
	for range d.groups {
		before := len(beat.Claims)
		if beat.Claims, b, ok = cutGroup(beat.Claims, b); !ok {
			return election.Beat{}, false
		}
		if before > 0 && beat.Claims[before].Epoch <= beat.Claims[before-1].Epoch {
			return election.Beat{}, false // one list must not have two spellings
		}
	}
	for n := range beat.Handovers {
		h := &beat.Handovers[n]
		if h.Addr, h.Epoch, b, ok = cutOwnership(b); !ok || len(b) == 0 {
			return election.Beat{}, false
		}
		nameLen := int(b[0])
		if b = b[1:]; len(b) < nameLen || !validName(b[:nameLen]) {
			return election.Beat{}, false
		}
		h.To, b = string(b[:nameLen]), b[nameLen:]
	}
	return beat, len(b) == 0
}

// cutGroup takes a group of claims off the front of b and appends them to dst.
// An empty group is refused: it would be another spelling of none.
func cutGroup(dst []election.Claim, b []byte) (claims []election.Claim, rest []byte, ok bool) {
	if len(b) < groupLen {
		return nil, nil, false
	}
	epoch := binary.BigEndian.Uint64(b)
	v4, v6 := int(binary.BigEndian.Uint16(b[8:])), int(binary.BigEndian.Uint16(b[10:]))
	if b = b[groupLen:]; v4+v6 == 0 || len(b) < 4*v4+16*v6 {
		return nil, nil, false
	}
	dst = slices.Grow(dst, v4+v6)
	for range v4 {
		dst = append(dst, election.Claim{Addr: netip.AddrFrom4([4]byte(b)), Epoch: epoch})
		b = b[4:]
	}
	for range v6 {
		a := netip.AddrFrom16([16]byte(b))
		if a.Is4In6() { // one address must not have two spellings
			return nil, nil, false
		}
		dst = append(dst, election.Claim{Addr: a, Epoch: epoch})
		b = b[16:]
	}
	return dst, b, true
}

// cutOwnership takes an address and its epoch off the front of b.
func cutOwnership(b []byte) (a netip.Addr, epoch uint64, rest []byte, ok bool) {
	if len(b) < 1+4+8 {
		return a, 0, nil, false
	}
	family, b := b[0], b[1:]
	switch {
	case family == familyIPv4:
		a, b = netip.AddrFrom4([4]byte(b)), b[4:]
	case family == familyIPv6 && len(b) >= 16+8:
		a, b = netip.AddrFrom16([16]byte(b)), b[16:]
	default:
		return a, 0, nil, false
	}
	if a.Is4In6() {
		return a, 0, nil, false
	}
	return a, binary.BigEndian.Uint64(b), b[8:], true
}
