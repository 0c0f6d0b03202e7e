package capture

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"golang.org/x/net/bpf"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

const (
	arpReply = "020000000100" + "020000000011" + "0806" +
		"0001080006040002" + "020000000011" + "0a4d00c8" + "020000000100" + "0a4d0064"
	arpProbe = "ffffffffffff" + "020000000011" + "0806" +
		"0001080006040001" + "020000000011" + "00000000" + "000000000000" + "0a4d00c8"
	advert = "333300000001" + "020000000011" + "86dd" + "6000000000203aff" +
		"fe8000000000000000000000000000aa" + "ff020000000000000000000000000001" +
		"8800000020000000" + "20010db8007700000000000000000200" + "0201020000000011"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	vip4, vip6, none := netip.MustParseAddr("10.77.0.200"), netip.MustParseAddr("2001:db8:77::200"), netip.Addr{}
	patch := func(s string, at int, b byte) []byte {
		f := unhex(t, s)
		f[at] = b
		return f
	}
	for _, tc := range []struct {
		name  string
		frame []byte
		addr  netip.Addr
		want  Verdict
	}{
		{"reply", unhex(t, arpReply), vip4, Advertisement},
		{"gratuitous request", patch(arpReply, 21, 1), vip4, Advertisement},
		{"probe", unhex(t, arpProbe), none, Question},
		{"arp of another network", patch(arpReply, 17, 1), none, Malformed},
		{"short arp", unhex(t, arpReply)[:41], none, Truncated},
		{"advertisement", unhex(t, advert), vip6, Advertisement},
		{"solicitation", patch(advert, 54, 135), none, Question},
		{"from beyond a router", patch(advert, 21, 254), none, Malformed},
		{"for a group", patch(advert, 62, 0xff), none, Malformed},
		{"short advertisement", unhex(t, advert)[:77], none, Truncated},
		{"echo request", patch(advert, 54, 128), none, Foreign},
		{"tcp", patch(advert, 20, 6), none, Foreign},
		{"ipv4", patch(arpReply, 13, 0), none, Foreign},
		{"no ethernet header", make([]byte, 13), none, Truncated},
	} {
		addr, got := parse(tc.frame)
		if addr != tc.addr || got != tc.want {
			t.Errorf("%s: %v %s, want %v %s", tc.name, addr, got, tc.addr, tc.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{arpReply, arpProbe, advert} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		addr, v := parse(frame)
		if (v == Advertisement) != addr.IsValid() || addr.IsValid() && addr.IsUnspecified() && addr.Is4() {
			t.Fatalf("%v with %s", addr, v)
		}
	})
}

// The filter keeps what the parser has an opinion on, and nothing else. The
// virtual machine of x/net/bpf doesn't know the packet's direction: that half
// is left to the kernel.
func TestFilter(t *testing.T) {
	raw, err := filter()
	if err != nil {
		t.Fatal(err)
	}
	prog, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("doesn't disassemble")
	}
	vm, err := bpf.NewVM(prog[2:])
	if err != nil {
		t.Fatal(err)
	}
	echo := unhex(t, advert)
	echo[54] = 128
	for name, tc := range map[string]struct {
		frame []byte
		want  bool
	}{
		"arp":    {unhex(t, arpReply), true},
		"advert": {unhex(t, advert), true},
		"echo":   {echo, false},
		"ipv4":   {append(make([]byte, 12), 8, 0, 0x45, 0), false},
	} {
		n, err := vm.Run(tc.frame)
		if err != nil || n > 0 != tc.want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// What the asker sends is what an independent decoder takes for a question.
func TestQuestion(t *testing.T) {
	s := Station{lb.MAC{2, 0, 0, 0, 2, 0}, netip.MustParseAddr("10.77.0.254"), netip.MustParseAddr("2001:db8:77::254")}
	p := gopacket.NewPacket(question(s, netip.MustParseAddr("10.77.0.200")), layers.LayerTypeEthernet, gopacket.Default)
	arp, ok := p.Layer(layers.LayerTypeARP).(*layers.ARP)
	if !ok || arp.Operation != layers.ARPRequest || !bytes.Equal(arp.DstProtAddress, []byte{10, 77, 0, 200}) ||
		!bytes.Equal(arp.SourceProtAddress, []byte{10, 77, 0, 254}) || !bytes.Equal(arp.SourceHwAddress, s.MAC[:]) {
		t.Errorf("ARP: %v", p)
	}

	frame := question(s, netip.MustParseAddr("2001:db8:77::200"))
	p = gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	ns, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
	if !ok || ns.TargetAddress.String() != "2001:db8:77::200" || len(ns.Options) != 1 {
		t.Fatalf("NS: %v", p)
	}
	if ip := p.NetworkLayer().(*layers.IPv6); ip.HopLimit != 255 || ip.DstIP.String() != "ff02::1:ff00:200" {
		t.Errorf("IPv6: %v", ip)
	}
	// Serialised again with a computed checksum it must be the same frame.
	buf := gopacket.NewSerializeBuffer()
	icmp := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
	icmp.SetNetworkLayerForChecksum(p.NetworkLayer())
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{ComputeChecksums: true, FixLengths: true},
		p.LinkLayer().(*layers.Ethernet), p.NetworkLayer().(*layers.IPv6), icmp, ns); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(frame, buf.Bytes()); diff != "" {
		t.Errorf("(-ours +gopacket)\n%s", diff)
	}
}

func TestPcap(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	var b bytes.Buffer
	if err := writePcap(&b, []frame{{at, 60, unhex(t, arpReply)}}); err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	data, info, err := r.ReadPacketData()
	if err != nil || !bytes.Equal(data, unhex(t, arpReply)) || !info.Timestamp.Equal(at) || info.Length != 60 ||
		r.LinkType() != layers.LinkTypeEthernet {
		t.Errorf("%x, %+v, %v", data, info, err)
	}
}
