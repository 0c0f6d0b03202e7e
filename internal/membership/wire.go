package membership

import (
	"cmp"
	"encoding/binary"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// The wire format, version 1. All integers are big-endian.
//
//	 0  4  magic "FLHB"
//	 4  1  version
//	 5  1  flags: bit 0 = authenticated
//	 6  4  key id: the first bytes of the key's SHA-256; 0 without key
//	10  8  instance: random, new at every start of the sender
//	18  8  started: the sender's wall clock at its start, in ns since 1970
//	26  8  sequence: one more for every datagram of the instance
//	34  2  part, counted from 0
//	36  2  parts: how many datagrams this heartbeat was split into
//	38  6  the MAC of the sending interface
//	44  1  refusal
//	45  1  length of the sender's node name, 1 to 253
//	46  2  number of instances heard
//	48  2  number of groups of claims
//	50  2  number of handovers
//	52     node name
//	    4  each instance heard: its low 32 bits
//	       each group: epoch (8), number of IPv4 and of IPv6 addresses (2 each),
//	       the IPv4 addresses (4 each), the IPv6 addresses (16 each): the claims
//	       of one epoch; the epochs of the groups ascend
//	       each handover: family, address, epoch, length of name, target's name
//	   32  HMAC-SHA256 of all before it; absent when not authenticated
//
// Nothing may follow. Every part is a heartbeat in its own right.
const (
	magic            = "FLHB"
	version          = 1
	flagAuthentic    = 1
	headerLen        = 52
	tagLen           = 32
	maxName          = 253
	heardLen         = 4
	groupLen         = 8 + 2 + 2
	minGroupLen      = groupLen + 4
	minHandoverLen   = 1 + 4 + 8 + 1 + 1
	familyIPv4       = 4
	familyIPv6       = 6
	maxParts         = 1 << 12
	offFlags         = 5
	offKeyID         = 6
	offInstance      = 10
	offStarted       = 18
	offSequence      = 26
	offPart          = 34
	offParts         = 36
	offMAC           = 38
	offRefusal       = 44
	offNameLen       = 45
	offHeardCount    = 46
	offGroupCount    = 48
	offHandoverCount = 50
)

// wireRefusals gives each refusal its number on the wire, which is the index.
// Numbers are never re-used: a new refusal goes to the end, with a new version.
var wireRefusals = [...]lb.Refusal{
	lb.Eligible, lb.NoRule, lb.NotSelected, lb.ExcludedByLabel, lb.InterfaceDown, lb.NotReady,
	lb.Draining, lb.DataplaneNotReady, lb.NoLocalEndpoint, lb.HearsNobody, lb.UnknownNode,
}

func refusalToWire(r lb.Refusal) byte {
	for n, w := range wireRefusals {
		if w == r {
			return byte(n)
		}
	}
	panic("membership: refusal without a number: " + r.String())
}

// message is one datagram's content as its sender has it.
type message struct {
	keyID     keyID
	authentic bool
	node      string
	instance  uint64
	started   uint64
	sequence  uint64
	part      uint16
	parts     uint16
	mac       lb.MAC
	heard     []uint32
	beat      election.Beat
}

// append encodes m, all but the authentication code.
func (m *message) append(b []byte) []byte {
	b = append(b, magic...)
	var flags byte
	if m.authentic {
		flags |= flagAuthentic
	}
	b = append(b, version, flags)
	b = append(b, m.keyID[:]...)
	b = binary.BigEndian.AppendUint64(b, m.instance)
	b = binary.BigEndian.AppendUint64(b, m.started)
	b = binary.BigEndian.AppendUint64(b, m.sequence)
	b = binary.BigEndian.AppendUint16(b, m.part)
	b = binary.BigEndian.AppendUint16(b, m.parts)
	b = append(b, m.mac[:]...)
	b = append(b, refusalToWire(m.beat.Refusal), byte(len(m.node)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.heard)))
	b = binary.BigEndian.AppendUint16(b, uint16(groups(m.beat.Claims)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.beat.Handovers)))
	b = append(b, m.node...)
	for _, i := range m.heard {
		b = binary.BigEndian.AppendUint32(b, i)
	}
	for claims := m.beat.Claims; len(claims) > 0; {
		g := group(claims)
		b, claims = appendGroup(b, claims[:g]), claims[g:]
	}
	for _, h := range m.beat.Handovers {
		b = appendOwnership(b, h.Addr, h.Epoch)
		b = append(b, byte(len(h.To)))
		b = append(b, h.To...)
	}
	return b
}

func appendOwnership(b []byte, a netip.Addr, epoch uint64) []byte {
	if a.Is4() {
		x := a.As4()
		b = append(append(b, familyIPv4), x[:]...)
	} else {
		x := a.As16()
		b = append(append(b, familyIPv6), x[:]...)
	}
	return binary.BigEndian.AppendUint64(b, epoch)
}

// group returns how many claims at the front of a list sorted by epoch have
// the epoch of the first.
func group(claims []election.Claim) int {
	n := 1
	for n < len(claims) && claims[n].Epoch == claims[0].Epoch {
		n++
	}
	return n
}

// groups counts the groups of a list sorted by epoch.
func groups(claims []election.Claim) (n int) {
	for len(claims) > 0 {
		claims = claims[group(claims):]
		n++
	}
	return n
}

// appendGroup encodes claims of one epoch, IPv4 before IPv6.
func appendGroup(b []byte, claims []election.Claim) []byte {
	v4 := 0
	for v4 < len(claims) && claims[v4].Addr.Is4() {
		v4++
	}
	b = binary.BigEndian.AppendUint64(b, claims[0].Epoch)
	b = binary.BigEndian.AppendUint16(b, uint16(v4))
	b = binary.BigEndian.AppendUint16(b, uint16(len(claims)-v4))
	for _, c := range claims[:v4] {
		x := c.Addr.As4()
		b = append(b, x[:]...)
	}
	for _, c := range claims[v4:] {
		x := c.Addr.As16()
		b = append(b, x[:]...)
	}
	return b
}

// compareEpochs orders claims as they are on the wire.
func compareEpochs(a, b election.Claim) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), a.Addr.Compare(b.Addr))
}

func handoverLen(h election.Handover) int { return 1 + h.Addr.BitLen()/8 + 8 + 1 + len(h.To) }
