package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// NDPType is the ICMPv6 type of a neighbour discovery message.
type NDPType uint8

// The two messages of address resolution (RFC 4861 §4.3, §4.4).
const (
	Solicitation  NDPType = 135
	Advertisement NDPType = 136
)

// NDP is a neighbour solicitation or advertisement together with the IPv6
// addresses that it went between. Hop limit 255 and a right checksum are
// implied.
type NDP struct {
	Type     NDPType
	Src, Dst netip.Addr // of the IPv6 header
	Target   netip.Addr
	// Link is the source (solicitation) or target (advertisement) link-layer
	// address option, zero if there is none. The last one wins.
	Link lb.MAC
	// The flags of an advertisement.
	Router, Solicited, Override bool
}

const (
	ipv6Len    = 40
	ndpLen     = 24 // without options
	linkOptLen = 8
	icmpv6     = 58

	optSourceLink = 1
	optTargetLink = 2

	flagRouter    = 1 << 31
	flagSolicited = 1 << 30
	flagOverride  = 1 << 29
)

var (
	allNodes        = netip.MustParseAddr("ff02::1")
	solicitedPrefix = netip.MustParsePrefix("ff02::1:ff00:0/104")
)

// SolicitedNode returns the multicast group that the holder of a listens to
// (RFC 4291 §2.7.1): it has the last 24 bits of a.
func SolicitedNode(a netip.Addr) netip.Addr {
	g, b := solicitedPrefix.Addr().As16(), a.As16()
	copy(g[13:], b[13:])
	return netip.AddrFrom16(g)
}

// GroupMAC returns the Ethernet address of an IPv6 multicast group (RFC 2464 §7).
func GroupMAC(group netip.Addr) lb.MAC {
	b := group.As16()
	return lb.MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

// DAD reports whether the message is a solicitation of duplicate address
// detection: of somebody who wants the target for himself (RFC 4862 §5.4.2).
func (n NDP) DAD() bool { return n.Type == Solicitation && n.Src.IsUnspecified() }

func (n NDP) String() string {
	link := ""
	if !n.Link.IsZero() {
		link = " link " + n.Link.String()
	}
	ip := fmt.Sprintf("ip6 %s > %s", n.Src, n.Dst)
	if n.Type == Solicitation {
		return fmt.Sprintf("%s\nndp solicitation who-has %s%s", ip, n.Target, link)
	}
	flags := ""
	for _, f := range []struct {
		set  bool
		name string
	}{{n.Router, "R"}, {n.Solicited, "S"}, {n.Override, "O"}} {
		if f.set {
			flags += f.name
		}
	}
	if flags == "" {
		flags = "-"
	}
	return fmt.Sprintf("%s\nndp advertisement %s flags %s%s", ip, n.Target, flags, link)
}

// parse reads an IPv6 packet and checks what RFC 4861 §7.1.1 and §7.1.2 ask of
// a receiver.
func (n *NDP) parse(b []byte) Refusal {
	if len(b) < ipv6Len {
		return Truncated
	}
	if b[0]>>4 != 6 {
		return IPVersion
	}
	n.Src, n.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	if b[6] != icmpv6 {
		return NotICMPv6
	}
	hopLimit := b[7]
	length := int(binary.BigEndian.Uint16(b[4:]))
	b = b[ipv6Len:]
	if length > len(b) {
		return Truncated
	}
	m := b[:length] // what follows is padding
	if len(m) < 4 {
		return Truncated
	}
	n.Type = NDPType(m[0])
	if n.Type != Solicitation && n.Type != Advertisement {
		return NotNDP
	}
	switch {
	case hopLimit != 255:
		return HopLimit
	case len(m) < ndpLen:
		return Truncated
	case checksum(n.Src, n.Dst, m) != 0:
		return Checksum
	case m[1] != 0:
		return ICMPCode
	}
	n.Target = netip.AddrFrom16([16]byte(m[8:24]))
	if n.Target.IsMulticast() {
		return TargetMulticast
	}
	if why := n.parseOptions(m[ndpLen:]); why != Accepted {
		return why
	}
	if n.Type == Advertisement {
		flags := binary.BigEndian.Uint32(m[4:])
		n.Router, n.Solicited, n.Override = flags&flagRouter != 0, flags&flagSolicited != 0, flags&flagOverride != 0
		if n.Solicited && n.Dst.IsMulticast() {
			return SolicitedGroup
		}
		return Accepted
	}
	if n.Src.IsUnspecified() && (!n.Link.IsZero() || !solicitedPrefix.Contains(n.Dst)) {
		return UnspecifiedSource
	}
	return Accepted
}

func (n *NDP) parseOptions(o []byte) Refusal {
	want := byte(optSourceLink)
	if n.Type == Advertisement {
		want = optTargetLink
	}
	for len(o) > 0 {
		if len(o) < 2 || o[1] == 0 || int(o[1])*8 > len(o) {
			return OptionLength
		}
		// A longer link-layer option is of another medium (RFC 2464 §6).
		if o[0] == want && o[1] == 1 {
			n.Link = lb.MAC(o[2:8])
			if !station(n.Link) {
				return LinkAddress
			}
		}
		o = o[int(o[1])*8:]
	}
	return Accepted
}

func (n NDP) append(b []byte) []byte {
	length := ndpLen
	if !n.Link.IsZero() {
		length += linkOptLen
	}
	b = append(b, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, icmpv6, 255)
	b = append(b, n.Src.AsSlice()...)
	b = append(b, n.Dst.AsSlice()...)

	start := len(b)
	b = append(b, byte(n.Type), 0, 0, 0)
	var flags uint32
	if n.Router {
		flags |= flagRouter
	}
	if n.Solicited {
		flags |= flagSolicited
	}
	if n.Override {
		flags |= flagOverride
	}
	b = binary.BigEndian.AppendUint32(b, flags)
	b = append(b, n.Target.AsSlice()...)
	if !n.Link.IsZero() {
		option := byte(optSourceLink)
		if n.Type == Advertisement {
			option = optTargetLink
		}
		b = append(b, option, 1)
		b = append(b, n.Link[:]...)
	}
	binary.BigEndian.PutUint16(b[start+2:], checksum(n.Src, n.Dst, b[start:]))
	return b
}

// checksum is the Internet checksum over the pseudo header and an ICMPv6
// message (RFC 8200 §8.1). Over a message that contains a right checksum it
// is 0. An odd last byte counts as if a zero followed.
func checksum(src, dst netip.Addr, m []byte) uint16 {
	sum := uint32(len(m)) + icmpv6
	add := func(b []byte) {
		for ; len(b) >= 2; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	s, d := src.As16(), dst.As16()
	add(s[:])
	add(d[:])
	add(m)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func ndpFrame(dst, src lb.MAC, n NDP) Frame {
	return Frame{Eth: Ethernet{Dst: dst, Src: src, Type: TypeIPv6}, NDP: n}
}

// Advertise answers the solicitation in f, which is not one of duplicate
// address detection: the target is at own (RFC 4861 §7.2.4). Without a source
// link-layer option, as in a unicast probe of a cached entry, it goes back to
// where the frame came from. Override is set: a solicited advertisement
// without it never moves an existing entry to a new owner.
func Advertise(f Frame, own lb.MAC) Frame {
	dst := f.NDP.Link
	if dst.IsZero() {
		dst = f.Eth.Src
	}
	return ndpFrame(dst, own, NDP{
		Type: Advertisement,
		Src:  f.NDP.Target, Dst: f.NDP.Src,
		Target: f.NDP.Target, Link: own,
		Solicited: true, Override: true,
	})
}

// Unsolicited tells all nodes that vip is at own (RFC 4861 §7.2.6). It is also
// the answer to duplicate address detection, whose sender has no address to
// answer to (RFC 4861 §7.2.4, RFC 4862 §5.4.3).
func Unsolicited(own lb.MAC, vip netip.Addr) Frame {
	return ndpFrame(GroupMAC(allNodes), own, NDP{
		Type: Advertisement,
		Src:  vip, Dst: allNodes,
		Target: vip, Link: own,
		Override: true,
	})
}

// Detect asks whether somebody has vip already: the solicitation of duplicate
// address detection (RFC 4862 §5.4.2).
func Detect(own lb.MAC, vip netip.Addr) Frame {
	group := SolicitedNode(vip)
	return ndpFrame(GroupMAC(group), own, NDP{
		Type: Solicitation,
		Src:  netip.IPv6Unspecified(), Dst: group,
		Target: vip,
	})
}
