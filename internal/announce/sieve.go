package announce

import (
	"encoding/binary"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/packet"
)

// sieve says in Go what the filter in the kernel does with a frame: Heeded for
// one that it lets through. It is what the fake sockets use, and what the real
// filter is tested against. What depends on the station (whether the frame is
// for another host) is the caller's.
func sieve(family Family, b []byte, want map[netip.Addr]Interest) Ignored {
	if family == ARP {
		return sieveARP(b, want)
	}
	return sieveNDP(b, want)
}

func sieveARP(b []byte, want map[netip.Addr]Interest) Ignored {
	if len(b) < 42 {
		return Malformed
	}
	// Ethernet and IPv4, with 6 and 4 bytes of address.
	if string(b[14:20]) != "\x00\x01\x08\x00\x06\x04" {
		return Malformed
	}
	request := binary.BigEndian.Uint16(b[20:]) == uint16(packet.ARPRequest)
	sender, target := netip.AddrFrom4([4]byte(b[28:32])), netip.AddrFrom4([4]byte(b[38:42]))
	switch {
	case want[sender]&Claims != 0:
		return Heeded
	case !request:
		return NotRequest
	case want[target]&Questions != 0, want[target]&Claims != 0 && sender.IsUnspecified():
		return Heeded
	}
	return NotAnnounced
}

func sieveNDP(b []byte, want map[netip.Addr]Interest) Ignored {
	const icmpv6 = 58
	if len(b) < 21 {
		return Malformed
	}
	if b[20] != icmpv6 {
		return refused(packet.NotNDP)
	}
	if len(b) < 55 {
		return Malformed
	}
	kind := packet.NDPType(b[54])
	if kind != packet.Solicitation && kind != packet.Advertisement {
		return refused(packet.NotNDP)
	}
	if len(b) < 78 {
		return Malformed
	}
	src, target := netip.AddrFrom16([16]byte(b[22:38])), netip.AddrFrom16([16]byte(b[62:78]))
	switch {
	case kind == packet.Advertisement && want[target]&Claims != 0:
		return Heeded
	case kind == packet.Advertisement:
		return NotRequest
	case want[target]&Questions != 0, want[target]&Claims != 0 && src.IsUnspecified(), want[src]&Claims != 0:
		return Heeded
	}
	return NotAnnounced
}
