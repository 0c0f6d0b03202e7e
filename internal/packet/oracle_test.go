package packet

import (
	"net"
	"net/netip"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"
)

func drawMAC(t *rapid.T, label string) lb.MAC {
	m := lb.MAC(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, label))
	m[0] = m[0]&^1 | 2 // a station
	return m
}

func drawAddr(t *rapid.T, n int, label string) netip.Addr {
	a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label))
	return a
}

// drawFrame draws a frame that Parse accepts.
func drawFrame(t *rapid.T) Frame {
	f := Frame{Eth: Ethernet{Dst: drawMAC(t, "dst"), Src: drawMAC(t, "src")}}
	if rapid.Bool().Draw(t, "tagged") {
		f.Eth.Tagged, f.Eth.Tag = true, rapid.Uint16().Draw(t, "tag")
	}
	if rapid.Bool().Draw(t, "arp") {
		f.Eth.Type = TypeARP
		f.ARP = ARP{
			Op:        rapid.SampledFrom([]ARPOp{ARPRequest, ARPReply}).Draw(t, "op"),
			SenderMAC: drawMAC(t, "sha"), SenderIP: drawAddr(t, 4, "spa"),
			TargetMAC: drawMAC(t, "tha"), TargetIP: drawAddr(t, 4, "tpa"),
		}
		return f
	}
	f.Eth.Type = TypeIPv6
	f.NDP = NDP{
		Type: rapid.SampledFrom([]NDPType{Solicitation, Advertisement}).Draw(t, "type"),
		Src:  drawAddr(t, 16, "src"), Dst: drawAddr(t, 16, "dst"),
		Target: drawAddr(t, 16, "target"),
	}
	if f.NDP.Target.IsMulticast() {
		f.NDP.Target = vip6
	}
	if rapid.Bool().Draw(t, "link") {
		f.NDP.Link = drawMAC(t, "lladdr")
	}
	if f.NDP.Type == Advertisement {
		f.NDP.Router, f.NDP.Override = rapid.Bool().Draw(t, "R"), rapid.Bool().Draw(t, "O")
		f.NDP.Solicited = !f.NDP.Dst.IsMulticast() && rapid.Bool().Draw(t, "S")
	}
	return f
}

// oracle builds f with an independent library.
func oracle(t *rapid.T, f Frame) []byte {
	eth := &layers.Ethernet{SrcMAC: f.Eth.Src[:], DstMAC: f.Eth.Dst[:], EthernetType: layers.EthernetType(f.Eth.Type)}
	stack := []gopacket.SerializableLayer{eth}
	if f.Eth.Tagged {
		eth.EthernetType = layers.EthernetTypeDot1Q
		stack = append(stack, &layers.Dot1Q{
			Priority: uint8(f.Eth.Tag >> 13), DropEligible: f.Eth.Tag>>12&1 == 1, VLANIdentifier: f.Eth.VLAN(),
			Type: layers.EthernetType(f.Eth.Type),
		})
	}
	if f.Eth.Type == TypeARP {
		stack = append(stack, &layers.ARP{
			AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
			Operation:       uint16(f.ARP.Op),
			SourceHwAddress: f.ARP.SenderMAC[:], SourceProtAddress: f.ARP.SenderIP.AsSlice(),
			DstHwAddress: f.ARP.TargetMAC[:], DstProtAddress: f.ARP.TargetIP.AsSlice(),
		})
	} else {
		n := f.NDP
		ip := &layers.IPv6{
			Version: 6, NextHeader: layers.IPProtocolICMPv6, HopLimit: 255,
			SrcIP: net.IP(n.Src.AsSlice()), DstIP: net.IP(n.Dst.AsSlice()),
		}
		icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(uint8(n.Type), 0)}
		if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		stack = append(stack, ip, icmp)
		var flags uint8
		var options layers.ICMPv6Options
		if n.Type == Advertisement {
			for i, set := range []bool{n.Override, n.Solicited, n.Router} {
				if set {
					flags |= 0x20 << i
				}
			}
			if !n.Link.IsZero() {
				options = append(options, layers.ICMPv6Option{Type: layers.ICMPv6OptTargetAddress, Data: n.Link[:]})
			}
			stack = append(stack, &layers.ICMPv6NeighborAdvertisement{Flags: flags, TargetAddress: n.Target.AsSlice(), Options: options})
		} else {
			if !n.Link.IsZero() {
				options = append(options, layers.ICMPv6Option{Type: layers.ICMPv6OptSourceAddress, Data: n.Link[:]})
			}
			stack = append(stack, &layers.ICMPv6NeighborSolicitation{TargetAddress: n.Target.AsSlice(), Options: options})
		}
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, stack...); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	for len(b) < MinFrame {
		b = append(b, 0)
	}
	return b
}

func TestBuildAsOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		if d := cmp.Diff(oracle(t, f), f.Bytes()); d != "" {
			t.Fatalf("%v\nbytes (-oracle +ours):\n%s", f, d)
		}
	})
}

func TestParseWhatWasBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		if f.NDP.DAD() {
			return // only legal towards the group
		}
		b := append(f.Bytes(), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "padding")...)
		got, why := Parse(b)
		if why != Accepted || got != f {
			t.Fatalf("%s: parsed\n%v\nwant\n%v", why, got, f)
		}
	})
}
