package plan

import (
	"encoding/binary"
	"net/netip"
)

// MaxHops is how often a packet is passed on from one delivery node to the
// next. The hop from the director to the first of them doesn't count.
const MaxHops = 3

// The space that marks are in: reserved blocks in which no host has an address
// and to which no router has a route. So whatever goes wrong, a marked packet
// doesn't come back by way of a router.
const (
	markSpace4 = 0xf000 // 240.0.0.0/4 (RFC 1112 §4), upper 16 bits
	markSpace6 = 0x0100 // 100::/8, reserved by the IETF (RFC 4291 §4)
	keep4      = 0x03ff // bits of the upper half that stay, below the hop
)

// Mark returns the address that stands for vip in a packet that has been
// passed on hop times, 1 … MaxHops.
//
// The first 16 bits give way to the reserved block and the hop, and what that
// adds to the Internet checksum (RFC 1071) is taken off again from the last 16,
// as in RFC 6296 §3. So neither the checksum of the IPv4 header nor that of
// TCP, UDP or ICMPv6 changes, whatever state of offload the packet is in.
//
// A receiver finds the VIP of a mark by looking it up. Should two of its VIPs
// have a mark in common, the second one by address has none ([MarkTaken]).
func Mark(vip netip.Addr, hop int) netip.Addr {
	if vip.Is4() {
		a := vip.As4()
		hi := binary.BigEndian.Uint16(a[:])
		mark := markSpace4 | uint16(hop)<<10 | hi&keep4
		binary.BigEndian.PutUint16(a[:], mark)
		offset(a[2:], mark, hi)
		return netip.AddrFrom4(a)
	}
	a := vip.As16()
	hi := binary.BigEndian.Uint16(a[:])
	mark := markSpace6 | uint16(hop)
	binary.BigEndian.PutUint16(a[:], mark)
	offset(a[14:], mark, hi)
	return netip.AddrFrom16(a)
}

// offset subtracts added-removed from the word b in one's complement. Zero is
// always written 0x0000, so that 255.255.255.255 is no mark.
func offset(b []byte, added, removed uint16) {
	sum := uint32(binary.BigEndian.Uint16(b)) + uint32(^added) + uint32(removed)
	binary.BigEndian.PutUint16(b, uint16(sum%0xffff))
}

// InMarkSpace reports whether a lies where marks lie.
func InMarkSpace(a netip.Addr) bool {
	if a.Is4() {
		return a.As4()[0] >= markSpace4>>8
	}
	return a.As16()[0] == markSpace6>>8
}
