package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// ARPOp is the operation of an ARP message.
type ARPOp uint16

// The operations of RFC 826.
const (
	ARPRequest ARPOp = 1
	ARPReply   ARPOp = 2
)

// ARP is an ARP message for IPv4 over Ethernet (RFC 826).
type ARP struct {
	Op        ARPOp
	SenderMAC lb.MAC
	SenderIP  netip.Addr // 0.0.0.0 in a probe (RFC 5227 §1.1)
	TargetMAC lb.MAC     // has no meaning in a request
	TargetIP  netip.Addr
}

const arpLen = 28

// Probe reports whether the message is an ARP probe: a request of somebody
// who wants the target address for himself.
func (a ARP) Probe() bool { return a.Op == ARPRequest && a.SenderIP.IsUnspecified() }

// Announcement reports whether the message says who has an address without
// being asked.
func (a ARP) Announcement() bool { return a.SenderIP == a.TargetIP }

func (a ARP) String() string {
	switch {
	case a.Op == ARPReply:
		return fmt.Sprintf("arp reply %s is-at %s to %s (%s)", a.SenderIP, a.SenderMAC, a.TargetIP, a.TargetMAC)
	case a.Probe():
		return fmt.Sprintf("arp probe %s by %s", a.TargetIP, a.SenderMAC)
	}
	return fmt.Sprintf("arp request who-has %s tell %s (%s)", a.TargetIP, a.SenderIP, a.SenderMAC)
}

func (a *ARP) parse(b []byte) Refusal {
	// The lengths come before the addresses: a message with other lengths is
	// refused for that even when it is short.
	if len(b) < 8 {
		return Truncated
	}
	htype, ptype := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if htype != 1 || b[4] != 6 {
		return ARPHardware
	}
	if ptype != 0x0800 || b[5] != 4 {
		return ARPProtocol
	}
	a.Op = ARPOp(binary.BigEndian.Uint16(b[6:]))
	if a.Op != ARPRequest && a.Op != ARPReply {
		return ARPOperation
	}
	if len(b) < arpLen {
		return Truncated
	}
	a.SenderMAC, a.SenderIP = lb.MAC(b[8:14]), netip.AddrFrom4([4]byte(b[14:18]))
	a.TargetMAC, a.TargetIP = lb.MAC(b[18:24]), netip.AddrFrom4([4]byte(b[24:28]))
	// An answer to a group address would teach the whole segment nonsense.
	if !station(a.SenderMAC) {
		return ARPSender
	}
	return Accepted
}

func (a ARP) append(b []byte) []byte {
	b = append(b, 0, 1, 8, 0, 6, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(a.Op))
	b = append(b, a.SenderMAC[:]...)
	b = append(b, a.SenderIP.AsSlice()...)
	b = append(b, a.TargetMAC[:]...)
	return append(b, a.TargetIP.AsSlice()...)
}

func arpFrame(dst lb.MAC, a ARP) Frame {
	return Frame{Eth: Ethernet{Dst: dst, Src: a.SenderMAC, Type: TypeARP}, ARP: a}
}

// Reply answers an ARP request: its target is at own. It goes to the sender
// that the request names (RFC 826), which need not be the station that the
// frame came from.
func Reply(request ARP, own lb.MAC) Frame {
	return arpFrame(request.SenderMAC, ARP{
		Op:        ARPReply,
		SenderMAC: own, SenderIP: request.TargetIP,
		TargetMAC: request.SenderMAC, TargetIP: request.SenderIP,
	})
}

// GratuitousRequest is an ARP announcement (RFC 5227 §3): a broadcast request
// with vip as sender and target.
func GratuitousRequest(own lb.MAC, vip netip.Addr) Frame {
	return arpFrame(lb.Broadcast, ARP{
		Op:        ARPRequest,
		SenderMAC: own, SenderIP: vip,
		TargetIP: vip,
	})
}

// GratuitousReply is the other form of an announcement, for stations that only
// learn from replies (RFC 5944 §4.6): both hardware addresses are own.
func GratuitousReply(own lb.MAC, vip netip.Addr) Frame {
	return arpFrame(lb.Broadcast, ARP{
		Op:        ARPReply,
		SenderMAC: own, SenderIP: vip,
		TargetMAC: own, TargetIP: vip,
	})
}

// Probe asks whether somebody has vip already (RFC 5227 §2.1.1) without
// touching anybody's cache: its sender address is 0.0.0.0.
func Probe(own lb.MAC, vip netip.Addr) Frame {
	return arpFrame(lb.Broadcast, ARP{
		Op:        ARPRequest,
		SenderMAC: own, SenderIP: netip.IPv4Unspecified(),
		TargetIP: vip,
	})
}
