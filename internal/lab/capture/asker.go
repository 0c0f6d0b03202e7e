package capture

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Station is whom an asker speaks for.
type Station struct {
	MAC   lb.MAC
	Addr4 netip.Addr
	Addr6 netip.Addr
}

// Asker asks a segment where addresses are.
type Asker struct {
	conn    *packet.Conn
	station Station
}

// NewAsker returns an asker that sends through an interface of a namespace: a
// bridge, so that the whole segment hears it.
func NewAsker(ns *netns.Namespace, ifname string, s Station) (*Asker, error) {
	a := &Asker{station: s}
	err := ns.Do(func() error {
		ifi, err := net.InterfaceByName(ifname)
		if err != nil {
			return err
		}
		// Protocol 0 receives nothing: the recorder does.
		a.conn, err = packet.Listen(ifi, packet.Raw, 0, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask on %s of %s: %w", ifname, ns.Name(), err)
	}
	return a, nil
}

// Close closes the asker's socket.
func (a *Asker) Close() error { return a.conn.Close() }

// Ask sends one question for an address.
func (a *Asker) Ask(addr netip.Addr) error {
	frame := question(a.station, addr)
	if _, err := a.conn.WriteTo(frame, &packet.Addr{HardwareAddr: frame[:6]}); err != nil {
		return fmt.Errorf("ask for %s: %w", addr, err)
	}
	return nil
}

// Run asks for each of the addresses once per interval until ctx ends. A
// question that can't be sent is asked again in the next round.
func (a *Asker) Run(ctx context.Context, addrs []netip.Addr, interval time.Duration) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		for _, addr := range addrs {
			a.Ask(addr)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// question returns an ARP request (RFC 826) or a neighbour solicitation
// (RFC 4861 §4.3) for an address.
func question(s Station, addr netip.Addr) []byte {
	if addr.Is4() {
		f := append([]byte(nil), lb.Broadcast[:]...)
		f = append(f, s.MAC[:]...)
		f = append(f, unix.ETH_P_ARP>>8, unix.ETH_P_ARP&0xff)
		f = append(f, 0, 1, 8, 0, 6, 4, 0, 1) // Ethernet, IPv4, their sizes, request
		f = append(f, s.MAC[:]...)
		f = append(f, s.Addr4.AsSlice()...)
		f = append(f, make([]byte, 6)...)
		return append(f, addr.AsSlice()...)
	}
	target := addr.As16()
	group := netip.MustParseAddr("ff02::1:ff00:0").As16()
	copy(group[13:], target[13:])
	icmp := []byte{icmp6Solicitation, 0, 0, 0, 0, 0, 0, 0}
	icmp = append(icmp, target[:]...)
	icmp = append(icmp, 1, 1) // source link-layer address option
	icmp = append(icmp, s.MAC[:]...)
	from := s.Addr6.As16()
	binary.BigEndian.PutUint16(icmp[2:], checksum6(from, group, icmp))

	f := append([]byte{0x33, 0x33}, group[12:]...)
	f = append(f, s.MAC[:]...)
	f = append(f, unix.ETH_P_IPV6>>8, unix.ETH_P_IPV6&0xff)
	f = append(f, 0x60, 0, 0, 0, 0, byte(len(icmp)), unix.IPPROTO_ICMPV6, 255)
	f = append(f, from[:]...)
	f = append(f, group[:]...)
	return append(f, icmp...)
}

// checksum6 is the checksum of an ICMPv6 message of even length (RFC 8200 §8.1).
func checksum6(from, to [16]byte, msg []byte) uint16 {
	sum := uint32(len(msg)) + unix.IPPROTO_ICMPV6
	for _, b := range [][]byte{from[:], to[:], msg} {
		for i := 0; i < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
