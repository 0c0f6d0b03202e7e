package packet

import (
	"encoding/binary"
	"fmt"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// EtherType says what an Ethernet frame carries (IEEE 802 numbers).
type EtherType uint16

// The EtherTypes that have a meaning here.
const (
	TypeARP  EtherType = 0x0806
	TypeVLAN EtherType = 0x8100 // IEEE 802.1Q customer tag
	TypeIPv6 EtherType = 0x86dd
)

// Lengths in bytes.
const (
	headerLen = 14
	tagLen    = 4
	// MinFrame is the shortest legal Ethernet frame without its checksum.
	// Frames that are built here are zero-padded to it.
	MinFrame = 60
)

// Ethernet is the header of a frame with at most one 802.1Q tag.
type Ethernet struct {
	Dst, Src lb.MAC
	Tagged   bool
	Tag      uint16    // priority, drop eligible and VLAN id, if Tagged
	Type     EtherType // of what the frame carries, behind the tag
}

// VLAN returns the VLAN id of the frame. It is 0 for an untagged frame and for
// one that only carries a priority.
func (e Ethernet) VLAN() uint16 { return e.Tag & 0x0fff }

func (e Ethernet) String() string {
	s := fmt.Sprintf("eth %s > %s", e.Src, e.Dst)
	if e.Tagged {
		s += fmt.Sprintf(" vlan %d", e.VLAN())
	}
	return s
}

// Frame is an Ethernet frame that carries ARP or neighbour discovery. Eth.Type
// says which of the two it is; the other one is zero. Frames are comparable.
type Frame struct {
	Eth Ethernet
	ARP ARP // when Eth.Type is TypeARP
	NDP NDP // when Eth.Type is TypeIPv6
}

// String prints the frame with one line per layer.
func (f Frame) String() string {
	switch f.Eth.Type {
	case TypeARP:
		return f.Eth.String() + "\n" + f.ARP.String()
	case TypeIPv6:
		return f.Eth.String() + "\n" + f.NDP.String()
	}
	return f.Eth.String()
}

// Parse reads a frame as it came from the wire, without the frame check
// sequence. Padding behind the message is passed over. On any refusal but
// Accepted the Frame is what could be read so far, good for a log line only.
func Parse(b []byte) (Frame, Refusal) {
	var f Frame
	rest, why := f.Eth.parse(b)
	if why != Accepted {
		return f, why
	}
	switch f.Eth.Type {
	case TypeARP:
		why = f.ARP.parse(rest)
	case TypeIPv6:
		why = f.NDP.parse(rest)
	default:
		why = OtherEtherType
	}
	return f, why
}

func (e *Ethernet) parse(b []byte) (rest []byte, why Refusal) {
	if len(b) < headerLen {
		return nil, Truncated
	}
	e.Dst, e.Src = lb.MAC(b[0:6]), lb.MAC(b[6:12])
	e.Type = EtherType(binary.BigEndian.Uint16(b[12:]))
	b = b[headerLen:]
	if e.Type == TypeVLAN {
		if len(b) < tagLen {
			return nil, Truncated
		}
		e.Tagged = true
		e.Tag = binary.BigEndian.Uint16(b)
		e.Type = EtherType(binary.BigEndian.Uint16(b[2:]))
		b = b[tagLen:]
	}
	if !station(e.Src) {
		return nil, GroupSource
	}
	return b, Accepted
}

// Bytes builds the frame as it goes to the wire, at least MinFrame long.
func (f Frame) Bytes() []byte {
	b := make([]byte, 0, 96)
	b = append(b, f.Eth.Dst[:]...)
	b = append(b, f.Eth.Src[:]...)
	if f.Eth.Tagged {
		b = binary.BigEndian.AppendUint16(b, uint16(TypeVLAN))
		b = binary.BigEndian.AppendUint16(b, f.Eth.Tag)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(f.Eth.Type))
	switch f.Eth.Type {
	case TypeARP:
		b = f.ARP.append(b)
	case TypeIPv6:
		b = f.NDP.append(b)
	}
	if len(b) < MinFrame {
		b = b[:MinFrame] // within the capacity, and zero there
	}
	return b
}

// station reports whether m can be the address of one station: neither zero
// nor a group address (lowest bit of the first byte, IEEE 802 §8.2).
func station(m lb.MAC) bool { return !m.IsZero() && m[0]&1 == 0 }
