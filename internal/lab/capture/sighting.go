package capture

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Verdict is what the recorder made of a frame.
type Verdict uint8

// The verdicts. Only an Advertisement is kept as an event.
const (
	Advertisement Verdict = iota // says that an address is at its sender
	Question                     // asks for an address, or probes it
	Truncated                    // shorter than its headers say
	Malformed                    // headers that contradict each other
	Foreign                      // neither ARP nor neighbour discovery over Ethernet
	numVerdicts
)

var verdictNames = [numVerdicts]string{
	Advertisement: "advertisement",
	Question:      "question",
	Truncated:     "truncated",
	Malformed:     "malformed",
	Foreign:       "foreign",
}

func (v Verdict) String() string { return verdictNames[v] }

// Sizes in bytes, and offsets from the start of the frame.
const (
	etherLen = 14
	arpLen   = 28 // RFC 826 over Ethernet and IPv4
	ip6Len   = 40
	icmp6Len = 24 // RFC 4861 §4.3, §4.4 without options

	icmp6Solicitation  = 135
	icmp6Advertisement = 136
)

// parse returns the address that a frame says is at its sender. A frame that
// only asks yields its verdict and the zero Addr.
func parse(frame []byte) (netip.Addr, Verdict) {
	if len(frame) < etherLen {
		return netip.Addr{}, Truncated
	}
	body := frame[etherLen:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		return parseARP(body)
	case unix.ETH_P_IPV6:
		return parseICMPv6(body)
	}
	return netip.Addr{}, Foreign
}

// parseARP takes request and reply alike: whoever names himself as the sender
// of an address claims it (RFC 5227 §2.4). A probe has no sender address.
func parseARP(b []byte) (netip.Addr, Verdict) {
	if len(b) < arpLen {
		return netip.Addr{}, Truncated
	}
	if binary.BigEndian.Uint64(b)>>16 != 0x0001_0800_0604 {
		return netip.Addr{}, Malformed
	}
	sender := netip.AddrFrom4([4]byte(b[14:18]))
	if sender.IsUnspecified() {
		return netip.Addr{}, Question
	}
	return sender, Advertisement
}

func parseICMPv6(b []byte) (netip.Addr, Verdict) {
	if len(b) < ip6Len {
		return netip.Addr{}, Truncated
	}
	if b[0]>>4 != 6 {
		return netip.Addr{}, Malformed
	}
	if b[6] != unix.IPPROTO_ICMPV6 {
		return netip.Addr{}, Foreign
	}
	hopLimit := b[7]
	b = b[ip6Len:]
	if len(b) < icmp6Len {
		return netip.Addr{}, Truncated
	}
	switch b[0] {
	case icmp6Solicitation:
		return netip.Addr{}, Question
	case icmp6Advertisement:
		target := netip.AddrFrom16([16]byte(b[8:24]))
		// RFC 4861 §7.1.2: anything else came through a router.
		if hopLimit != 255 || b[1] != 0 || target.IsMulticast() || target.Is4In6() {
			return netip.Addr{}, Malformed
		}
		return target, Advertisement
	}
	return netip.Addr{}, Foreign
}
