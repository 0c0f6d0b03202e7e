package packet

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/google/go-cmp/cmp"
)

var (
	own    = lb.MAC{2, 0, 0, 0, 0, 0x11}
	client = lb.MAC{2, 0, 0, 0, 1, 0}
	vip4   = netip.MustParseAddr("10.77.0.200")
	vip6   = netip.MustParseAddr("2001:db8:77::200")
)

// unhex reads hex with blanks, and "xx*n" for n times xx.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for _, w := range strings.Fields(s) {
		w, n, _ := strings.Cut(w, "*")
		p, err := hex.DecodeString(w)
		if err != nil {
			t.Fatal(err)
		}
		times := 1
		if n != "" {
			times = int(unhexByte(t, n))
		}
		for range times {
			b = append(b, p...)
		}
	}
	return b
}

func unhexByte(t testing.TB, s string) byte {
	t.Helper()
	var n byte
	for _, c := range s {
		n = n*10 + byte(c-'0')
	}
	return n
}

// Frames as captured from real segments, in two parts: the Ethernet addresses
// and the rest.
const (
	arpBody = "0806 0001 0800 06 04 0001 020000000100 0a4d0064 000000000000 0a4d00c8"

	ndpEth  = "3333ff000200 020000000100 86dd "
	ndpAsk  = "6000000000203aff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 "
	ndpMsg  = "8700153f00000000 20010db8007700000000000000000200 "
	ndpLink = "0101020000000100"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, frame string
		refusal     Refusal
		text        string // of an accepted frame
	}{
		{"announcement of a stranger", "ffffffffffff 020000000066 0806 0001 0800 06 04 0001 020000000066 0a4d00c8 000000000000 0a4d00c8", Accepted,
			"eth 02:00:00:00:00:66 > ff:ff:ff:ff:ff:ff\narp request who-has 10.77.0.200 tell 10.77.0.200 (02:00:00:00:00:66)"},
		{"probe of a stranger", "ffffffffffff 020000000066 0806 0001 0800 06 04 0001 020000000066 00000000 000000000000 0a4d00c8", Accepted,
			"eth 02:00:00:00:00:66 > ff:ff:ff:ff:ff:ff\narp probe 10.77.0.200 by 02:00:00:00:00:66"},
		{"unicast request", "020000000011 020000000100 " + arpBody, Accepted,
			"eth 02:00:00:00:01:00 > 02:00:00:00:00:11\narp request who-has 10.77.0.200 tell 10.77.0.100 (02:00:00:00:01:00)"},
		{"request to another station", "020000000099 020000000100 " + arpBody, Accepted,
			"eth 02:00:00:00:01:00 > 02:00:00:00:00:99\narp request who-has 10.77.0.200 tell 10.77.0.100 (02:00:00:00:01:00)"},
		{"padded with noise", "020000000011 020000000100 " + arpBody + " aa*18", Accepted,
			"eth 02:00:00:00:01:00 > 02:00:00:00:00:11\narp request who-has 10.77.0.200 tell 10.77.0.100 (02:00:00:00:01:00)"},
		{"reply", "020000000011 020000000100 0806 0001 0800 06 04 0002 020000000100 0a4d0064 000000000000 0a4d00c8", Accepted,
			"eth 02:00:00:00:01:00 > 02:00:00:00:00:11\narp reply 10.77.0.100 is-at 02:00:00:00:01:00 to 10.77.0.200 (00:00:00:00:00:00)"},
		{"relayed", "ffffffffffff 020000000077 " + arpBody, Accepted,
			"eth 02:00:00:00:00:77 > ff:ff:ff:ff:ff:ff\narp request who-has 10.77.0.200 tell 10.77.0.100 (02:00:00:00:01:00)"},
		{"802.1Q", "ffffffffffff 020000000100 8100 6007 " + arpBody, Accepted,
			"eth 02:00:00:00:01:00 > ff:ff:ff:ff:ff:ff vlan 7\narp request who-has 10.77.0.200 tell 10.77.0.100 (02:00:00:00:01:00)"},
		{"hlen 8", "020000000011 020000000100 0806 0001 0800 08 04 0001 020000000100 0a4d0064 000000000000 0a4d00c8", ARPHardware, ""},
		{"htype IEEE 802", "020000000011 020000000100 0806 0006 0800 06 04 0001 020000000100 0a4d0064 000000000000 0a4d00c8", ARPHardware, ""},
		{"ptype IPv6", "020000000011 020000000100 0806 0001 86dd 06 04 0001 020000000100 0a4d0064 000000000000 0a4d00c8", ARPProtocol, ""},
		{"plen 16", "020000000011 020000000100 0806 0001 0800 06 10 0001 020000000100 0a4d0064 000000000000 0a4d00c8", ARPProtocol, ""},
		{"RARP operation", "020000000011 020000000100 0806 0001 0800 06 04 0003 020000000100 0a4d0064 000000000000 0a4d00c8", ARPOperation, ""},
		{"broadcast sender", "020000000011 020000000100 0806 0001 0800 06 04 0001 ffffffffffff 0a4d0064 000000000000 0a4d00c8", ARPSender, ""},
		{"cut after 20 bytes", "020000000011 020000000100 0806 000108000604", Truncated, ""},
		{"cut in the addresses", "020000000011 020000000100 0806 0001 0800 06 04 0001 020000000100 0a4d", Truncated, ""},
		{"cut in the header", "020000000011 0200", Truncated, ""},
		{"cut in the tag", "020000000011 020000000100 8100 60", Truncated, ""},
		{"empty", "", Truncated, ""},
		{"two tags", "ffffffffffff 020000000100 8100 0007 8100 0008 " + arpBody, OtherEtherType, ""},
		{"group source", "ffffffffffff 01005e000001 " + arpBody, GroupSource, ""},
		{"IPv4", "020000000011 020000000100 0800 4500", OtherEtherType, ""},

		{"solicitation", ndpEth + ndpAsk + ndpMsg + ndpLink, Accepted,
			"eth 02:00:00:00:01:00 > 33:33:ff:00:02:00\nip6 2001:db8:77::100 > ff02::1:ff00:200\nndp solicitation who-has 2001:db8:77::200 link 02:00:00:00:01:00"},
		{"duplicate address detection", ndpEth + "6000000000183aff 00*16 ff0200000000000000000001ff000200 8700487800000000 20010db8007700000000000000000200", Accepted,
			"eth 02:00:00:00:01:00 > 33:33:ff:00:02:00\nip6 :: > ff02::1:ff00:200\nndp solicitation who-has 2001:db8:77::200"},
		{"hop limit 254", ndpEth + "6000000000203afe 20010db8007700000000000000000100 ff0200000000000000000001ff000200 " + ndpMsg + ndpLink, HopLimit, ""},
		{"option length 0", ndpEth + ndpAsk + "8700154000000000 20010db8007700000000000000000200 0100020000000100", OptionLength, ""},
		{"source :: with link option", ndpEth + "6000000000203aff 00*16 ff0200000000000000000001ff000200 8700446f00000000 20010db8007700000000000000000200 " + ndpLink, UnspecifiedSource, ""},
		{"code 1", ndpEth + ndpAsk + "8701153e00000000 20010db8007700000000000000000200 " + ndpLink, ICMPCode, ""},
		{"checksum off by one", ndpEth + ndpAsk + "8700154000000000 20010db8007700000000000000000200 " + ndpLink, Checksum, ""},
		{"target ff02::1", ndpEth + ndpAsk + "8700466b00000000 ff020000000000000000000000000001 " + ndpLink, TargetMulticast, ""},
		{"source :: to the address itself", ndpEth + "6000000000183aff 00*16 20010db8007700000000000000000200 8700184d00000000 20010db8007700000000000000000200", UnspecifiedSource, ""},
		{"20 bytes of ICMP", ndpEth + "6000000000143aff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 8700153f00000000 20010db80077000000000000", Truncated, ""},
		{"cut to 20 bytes of ICMP", ndpEth + ndpAsk + "8700153f00000000 20010db80077000000000000", Truncated, ""},
		{"payload length beyond the frame", ndpEth + "6000000001003aff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 " + ndpMsg + ndpLink, Truncated, ""},
		{"hop-by-hop header in front", ndpEth + "60000000002800ff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 3a00050200000000 " + ndpMsg + ndpLink, NotICMPv6, ""},
		{"IPv4 in an IPv6 frame", ndpEth + "4000000000203aff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 " + ndpMsg + ndpLink, IPVersion, ""},
		{"router solicitation", ndpEth + ndpAsk + "8500153f00000000 20010db8007700000000000000000200 " + ndpLink, NotNDP, ""},
		{"no room for ICMP", ndpEth + "6000000000023aff 20010db8007700000000000000000100 ff0200000000000000000001ff000200 8700", Truncated, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, why := Parse(unhex(t, tc.frame))
			if why != tc.refusal {
				t.Fatalf("refusal %s, want %s", why, tc.refusal)
			}
			if why != Accepted {
				return
			}
			if d := cmp.Diff(tc.text, f.String()); d != "" {
				t.Errorf("text (-want +got):\n%s", d)
			}
		})
	}
}

func TestBuild(t *testing.T) {
	ask, why := Parse(unhex(t, ndpEth+ndpAsk+ndpMsg+ndpLink))
	if why != Accepted {
		t.Fatal(why)
	}
	unicastProbe := ask
	unicastProbe.NDP.Link = lb.MAC{}
	for _, tc := range []struct {
		name  string
		frame Frame
		text  string
	}{
		{"reply", Reply(ARP{Op: ARPRequest, SenderMAC: client, SenderIP: netip.MustParseAddr("10.99.0.5"), TargetIP: vip4}, own),
			"eth 02:00:00:00:00:11 > 02:00:00:00:01:00\narp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.99.0.5 (02:00:00:00:01:00)"},
		{"gratuitous request", GratuitousRequest(own, vip4),
			"eth 02:00:00:00:00:11 > ff:ff:ff:ff:ff:ff\narp request who-has 10.77.0.200 tell 10.77.0.200 (02:00:00:00:00:11)"},
		{"gratuitous reply", GratuitousReply(own, vip4),
			"eth 02:00:00:00:00:11 > ff:ff:ff:ff:ff:ff\narp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.77.0.200 (02:00:00:00:00:11)"},
		{"probe", Probe(own, vip4),
			"eth 02:00:00:00:00:11 > ff:ff:ff:ff:ff:ff\narp probe 10.77.0.200 by 02:00:00:00:00:11"},
		{"solicited advertisement", Advertise(ask, own),
			"eth 02:00:00:00:00:11 > 02:00:00:00:01:00\nip6 2001:db8:77::200 > 2001:db8:77::100\nndp advertisement 2001:db8:77::200 flags SO link 02:00:00:00:00:11"},
		{"solicited without link option", Advertise(unicastProbe, own),
			"eth 02:00:00:00:00:11 > 02:00:00:00:01:00\nip6 2001:db8:77::200 > 2001:db8:77::100\nndp advertisement 2001:db8:77::200 flags SO link 02:00:00:00:00:11"},
		{"unsolicited advertisement", Unsolicited(own, vip6),
			"eth 02:00:00:00:00:11 > 33:33:00:00:00:01\nip6 2001:db8:77::200 > ff02::1\nndp advertisement 2001:db8:77::200 flags O link 02:00:00:00:00:11"},
		{"duplicate address detection", Detect(own, vip6),
			"eth 02:00:00:00:00:11 > 33:33:ff:00:02:00\nip6 :: > ff02::1:ff00:200\nndp solicitation who-has 2001:db8:77::200"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := tc.frame.Bytes()
			if len(b) < MinFrame {
				t.Errorf("%d bytes are no legal frame", len(b))
			}
			f, why := Parse(b)
			if why != Accepted {
				t.Fatalf("own frame refused: %s", why)
			}
			if f != tc.frame {
				t.Errorf("parsed back: %v", f)
			}
			if d := cmp.Diff(tc.text, f.String()); d != "" {
				t.Errorf("text (-want +got):\n%s", d)
			}
		})
	}
}

func TestSolicitedNode(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8:77::200"), netip.MustParseAddr("2001:db8:77::5:0:200")
	want := netip.MustParseAddr("ff02::1:ff00:200")
	if SolicitedNode(a) != want || SolicitedNode(b) != want {
		t.Errorf("groups %s and %s, want %s", SolicitedNode(a), SolicitedNode(b), want)
	}
	if m := GroupMAC(want); m != (lb.MAC{0x33, 0x33, 0xff, 0, 2, 0}) {
		t.Errorf("group address %s", m)
	}
}

func TestRefusalNames(t *testing.T) {
	seen := make(map[string]bool)
	for r := Refusal(0); r < numRefusals; r++ {
		if r.String() == "" || seen[r.String()] {
			t.Errorf("refusal %d has the name %q", r, r)
		}
		seen[r.String()] = true
	}
}
