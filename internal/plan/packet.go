package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// Packet is a frame as the programs see it: what matters of its headers.
// Packets are comparable. Numbers are in host byte order.
type Packet struct {
	// Egress is true for a packet on its way out through an uplink, which only
	// the program on that side sees.
	Egress   bool
	EthDst   lb.MAC
	EthSrc   lb.MAC
	Outer    Outer
	Src, Dst netip.Addr // of one family
	TTL      uint8      // or hop limit
	DSCP     uint8      // 0 … 63; the ECN bits are never touched
	Len      int        // of the IP packet, in bytes
	Fragment Fragment
	// Proto is the IANA number of the upper-layer protocol, behind extension
	// headers that don't matter.
	Proto            uint8
	SrcPort, DstPort uint16 // of TCP, UDP and SCTP; 0 in a later fragment
	TCP              TCPFlags
	MSS              uint16 // option in a SYN, 0 if there is none
	ICMP             ICMP
	// Malformed is true if the headers contradict the frame or each other.
	Malformed bool
}

// ProtoICMP and ProtoICMPv6 are the protocols of control messages.
const (
	ProtoICMP   = 1
	ProtoICMPv6 = 58
)

// Outer is an encapsulation around the packet.
type Outer struct {
	Mode      Mode // gue, ipip or gre; 0 for none
	Src, Dst  netip.Addr
	Malformed bool // a header of the kind that isn't to be opened: version, reserved bits, lengths
}

// Fragment is what a packet is of a fragmented datagram. The zero value, apart
// from DontFragment, is a whole datagram.
type Fragment struct {
	ID           uint32
	Offset       uint16 // in units of 8 bytes
	More         bool
	DontFragment bool // IPv4's flag
}

// Later reports whether the packet is a fragment without ports.
func (f Fragment) Later() bool { return f.Offset > 0 }

// First reports whether the packet is the fragment with the ports.
func (f Fragment) First() bool { return f.More && f.Offset == 0 }

// TCPFlags are the flags of TCP in the order of its header, and those chunks
// of SCTP that mean the same: INIT is SYN, ABORT is RST, SHUTDOWN COMPLETE is FIN.
type TCPFlags uint8

// The flags that matter (RFC 9293 §3.1).
const (
	FIN TCPFlags = 1 << 0
	SYN TCPFlags = 1 << 1
	RST TCPFlags = 1 << 2
	ACK TCPFlags = 1 << 4
)

func (f TCPFlags) String() string {
	var words []string
	for _, w := range []struct {
		flag TCPFlags
		name string
	}{{SYN, "syn"}, {ACK, "ack"}, {FIN, "fin"}, {RST, "rst"}} {
		if f&w.flag != 0 {
			words = append(words, w.name)
		}
	}
	return strings.Join(words, "+")
}

// ICMPKind sorts control messages of both families.
type ICMPKind uint8

// The kinds. An error quotes the packet that it is about.
const (
	NotICMP ICMPKind = iota
	EchoRequest
	ICMPError // RFC 792 types 3, 11, 12; RFC 4443 types 1 … 4
	NeighbourDiscovery
	OtherICMP // echo replies, redirects, timestamps, …
)

// ICMP is what matters of a control message.
type ICMP struct {
	Kind  ICMPKind
	MTU   uint16       // that a too-big message tells
	Quote maglev.Tuple // of an error: the head of the packet that it is about
}

func (p Packet) tcp() bool  { return p.Proto == uint8(lb.TCP) }
func (p Packet) sctp() bool { return p.Proto == uint8(lb.SCTP) }

// ported reports whether the protocol is one that services have.
func (p Packet) ported() bool { return p.tcp() || p.sctp() || p.Proto == uint8(lb.UDP) }

// opens reports whether p may be the first packet of a flow: any UDP packet, a
// SYN, an INIT.
func (p Packet) opens() bool {
	if p.ICMP.Kind == ICMPError {
		return false
	}
	return p.Proto == uint8(lb.UDP) || p.TCP&(SYN|ACK|RST|FIN) == SYN
}

// String is the packet in one line, as it is written in golden files.
func (p Packet) String() string {
	var b strings.Builder
	if p.Egress {
		b.WriteString("out ")
	}
	fmt.Fprintf(&b, "%s>%s ", p.EthSrc, p.EthDst)
	if p.Outer.Mode != 0 {
		fmt.Fprintf(&b, "%s %s>%s ", p.Outer.Mode, p.Outer.Src, p.Outer.Dst)
		if p.Outer.Malformed {
			b.WriteString("malformed ")
		}
	}
	switch {
	case p.ported():
		fmt.Fprintf(&b, "%s %s>%s", strings.ToLower(lb.Protocol(p.Proto).String()), netip.AddrPortFrom(p.Src, p.SrcPort), netip.AddrPortFrom(p.Dst, p.DstPort))
	case p.ICMP.Kind != NotICMP:
		fmt.Fprintf(&b, "icmp %s>%s %s", p.Src, p.Dst, icmpNames[p.ICMP.Kind])
	default:
		fmt.Fprintf(&b, "proto-%d %s>%s", p.Proto, p.Src, p.Dst)
	}
	if p.TCP != 0 {
		b.WriteString(" " + p.TCP.String())
	}
	if p.MSS != 0 {
		fmt.Fprintf(&b, " mss %d", p.MSS)
	}
	if p.ICMP.MTU != 0 {
		fmt.Fprintf(&b, " mtu %d", p.ICMP.MTU)
	}
	if q := p.ICMP.Quote; q.Src.IsValid() {
		fmt.Fprintf(&b, " quote %s %s>%s", strings.ToLower(lb.Protocol(q.Proto).String()), netip.AddrPortFrom(q.Src, q.SrcPort), netip.AddrPortFrom(q.Dst, q.DstPort))
	}
	fmt.Fprintf(&b, " ttl %d len %d", p.TTL, p.Len)
	if p.DSCP != 0 {
		fmt.Fprintf(&b, " dscp %d", p.DSCP)
	}
	if f := p.Fragment; f.More || f.Offset > 0 {
		fmt.Fprintf(&b, " fragment %d at %d", f.ID, int(f.Offset)*8)
		if f.More {
			b.WriteByte('+')
		}
	}
	if p.Fragment.DontFragment {
		b.WriteString(" df")
	}
	if p.Malformed {
		b.WriteString(" malformed")
	}
	return b.String()
}

var icmpNames = [...]string{EchoRequest: "echo", ICMPError: "error", NeighbourDiscovery: "neighbour", OtherICMP: "other"}
