package announce

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"golang.org/x/time/rate"
)

var (
	ownMAC      = lb.MAC{2, 0, 0, 0, 0, 0x11}
	memberMAC   = lb.MAC{2, 0, 0, 0, 0, 0x12}
	strangerMAC = lb.MAC{2, 0, 0, 0, 0, 0x66}
	clientMAC   = lb.MAC{2, 0, 0, 0, 1, 0}

	vip4    = netip.MustParseAddr("10.77.0.200")
	other4  = netip.MustParseAddr("10.77.0.201")
	client4 = netip.MustParseAddr("10.77.0.100")
	vip6    = netip.MustParseAddr("2001:db8:77::200")
	twin6   = netip.MustParseAddr("2001:db8:77::5:0:200") // of the same group
	client6 = netip.MustParseAddr("2001:db8:77::100")
)

// testLink is an interface that is up, with these addresses to announce.
func testLink(addrs ...netip.Addr) Link {
	l := Link{Name: "eth0", Index: 7, MAC: ownMAC, Up: true, Members: []lb.MAC{ownMAC, memberMAC}}
	for _, a := range addrs {
		l.Entries = append(l.Entries, Entry{Addr: a, Generation: 1})
	}
	slices.SortFunc(l.Entries, compareEntries)
	return l
}

// testSegment is a segment whose sockets are open and which announces l.
func testSegment(l Link, now time.Time) *segment {
	s := newSegment(rate.NewLimiter(1000, 1000), func(time.Duration) time.Duration { return time.Minute })
	s.apply(l, now)
	for f := range numFamilies {
		s.setReady(f, true, now)
	}
	s.changes = nil
	return s
}

func (s *segment) entry(t testing.TB, a netip.Addr) *entry {
	t.Helper()
	e := s.byAddr[a]
	if e == nil {
		t.Fatalf("no entry for %s", a)
	}
	return e
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// arp builds a broadcast ARP message.
func arp(op packet.ARPOp, by lb.MAC, sender, target netip.Addr) packet.Frame {
	return packet.Frame{
		Eth: packet.Ethernet{Dst: lb.Broadcast, Src: by, Type: packet.TypeARP},
		ARP: packet.ARP{Op: op, SenderMAC: by, SenderIP: sender, TargetIP: target},
	}
}

// solicit builds a solicitation to the group of the target.
func solicit(by lb.MAC, sender, target netip.Addr) packet.Frame {
	f := packet.Detect(by, target)
	if f.NDP.Src = sender; !sender.IsUnspecified() {
		f.NDP.Link = by
	}
	return f
}

// Frames of the field, as in the tests of package packet.
const (
	arpHeader  = "0806 0001 0800 06 04 0001 "
	arpRest    = "020000000100 0a4d0064 000000000000 0a4d00c8"
	ndpHeader  = "3333ff000200 020000000100 86dd "
	ndpAddrs   = "20010db8007700000000000000000100 ff0200000000000000000001ff000200 "
	ndpTarget  = "20010db8007700000000000000000200 "
	ndpLinkOpt = "0101020000000100"
	unspec     = "00000000000000000000000000000000 "
)

// fieldFrame is a frame with what the announcer of vip4 and vip6 does with it.
type fieldFrame struct {
	name, hex string
	kernel    Ignored // by the filter; Heeded if it is let through
	ignored   Ignored // after reading
	answer    string  // the frame that is sent
}

const (
	arpAnswer = "eth 02:00:00:00:00:11 > 02:00:00:00:01:00\n" +
		"arp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.77.0.100 (02:00:00:00:01:00)"
	naAnswer = "eth 02:00:00:00:00:11 > 02:00:00:00:01:00\n" +
		"ip6 2001:db8:77::200 > 2001:db8:77::100\n" +
		"ndp advertisement 2001:db8:77::200 flags SO link 02:00:00:00:00:11"
	naToAll = "eth 02:00:00:00:00:11 > 33:33:00:00:00:01\n" +
		"ip6 2001:db8:77::200 > ff02::1\n" +
		"ndp advertisement 2001:db8:77::200 flags O link 02:00:00:00:00:11"
)

// fieldFrames are frames that real segments carry: unicast refreshes, padded,
// relayed and malformed ones.
func fieldFrames() []fieldFrame {
	return []fieldFrame{
		{"request", "ffffffffffff 020000000100" + arpHeader + arpRest, Heeded, Heeded, arpAnswer},
		{"unicast request", "020000000011 020000000100" + arpHeader + arpRest, Heeded, Heeded, arpAnswer},
		{"request to another station", "020000000099 020000000100" + arpHeader + arpRest, OtherHost, OtherHost, ""},
		{"padded with noise", "020000000011 020000000100" + arpHeader + arpRest + strings.Repeat("aa", 18), Heeded, Heeded, arpAnswer},
		{"reply of a client", "020000000011 020000000100 0806 0001 0800 06 04 0002" + arpRest, NotRequest, NotRequest, ""},
		{"hlen 8", "020000000011 020000000100 0806 0001 0800 08 04 0001" + arpRest, Malformed, refused(packet.ARPHardware), ""},
		{"cut after 20 bytes", "020000000011 020000000100 0806 000108000604", Malformed, refused(packet.Truncated), ""},
		{"htype IEEE 802", "020000000011 020000000100 0806 0006 0800 06 04 0001" + arpRest, Malformed, refused(packet.ARPHardware), ""},
		{"relayed", "ffffffffffff 020000000077" + arpHeader + arpRest, Heeded, Heeded, arpAnswer},
		{"client in another subnet", "ffffffffffff 020000000100" + arpHeader + "020000000100 0a630005 000000000000 0a4d00c8", Heeded, Heeded,
			"eth 02:00:00:00:00:11 > 02:00:00:00:01:00\narp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.99.0.5 (02:00:00:00:01:00)"},
		{"request for another address", "ffffffffffff 020000000100" + arpHeader + "020000000100 0a4d0064 000000000000 0a4d00c9", NotAnnounced, NotAnnounced, ""},
		{"a member asks", "ffffffffffff 020000000012" + arpHeader + "020000000012 0a4d000c 000000000000 0a4d00c8", Heeded, Heeded,
			"eth 02:00:00:00:00:11 > 02:00:00:00:00:12\narp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.77.0.12 (02:00:00:00:00:12)"},
		{"a member claims", "ffffffffffff 020000000012" + arpHeader + "020000000012 0a4d00c8 000000000000 0a4d00c8", Heeded, MemberClaim, ""},
		{"our own announcement comes back", "ffffffffffff 020000000011" + arpHeader + "020000000011 0a4d00c8 000000000000 0a4d00c8", Heeded, Reflected, ""},
		{"our own probe comes back", "ffffffffffff 020000000011" + arpHeader + "020000000011 00000000 000000000000 0a4d00c8", Heeded, Reflected, ""},
		{"a switch answers with what it learnt", "020000000011 020000000088 0806 0001 0800 06 04 0002 020000000011 0a4d00c8 020000000011 00000000", Heeded, Reflected, ""},

		{"solicitation", ndpHeader + "6000000000203aff" + ndpAddrs + "8700153f00000000" + ndpTarget + ndpLinkOpt, Heeded, Heeded, naAnswer},
		{"unicast solicitation without link option", "020000000011 020000000100 86dd 6000000000183aff 20010db8007700000000000000000100" + ndpTarget + "8700e91c00000000" + ndpTarget, Heeded, Heeded, naAnswer},
		{"hop limit 254", ndpHeader + "6000000000203afe" + ndpAddrs + "8700153f00000000" + ndpTarget + ndpLinkOpt, Heeded, refused(packet.HopLimit), ""},
		{"option length 0", ndpHeader + "6000000000203aff" + ndpAddrs + "8700154000000000" + ndpTarget + "0100020000000100", Heeded, refused(packet.OptionLength), ""},
		{"source :: with link option", ndpHeader + "6000000000203aff" + unspec + "ff0200000000000000000001ff000200 8700446f00000000" + ndpTarget + ndpLinkOpt, Heeded, refused(packet.UnspecifiedSource), ""},
		{"code 1", ndpHeader + "6000000000203aff" + ndpAddrs + "8701153e00000000" + ndpTarget + ndpLinkOpt, Heeded, refused(packet.ICMPCode), ""},
		{"checksum off by one", ndpHeader + "6000000000203aff" + ndpAddrs + "8700154000000000" + ndpTarget + ndpLinkOpt, Heeded, refused(packet.Checksum), ""},
		{"target ff02::1", ndpHeader + "6000000000203aff" + ndpAddrs + "8700466b00000000 ff020000000000000000000000000001" + ndpLinkOpt, NotAnnounced, refused(packet.TargetMulticast), ""},
		{"source :: to the address itself", ndpHeader + "6000000000183aff" + unspec + ndpTarget + "8700184d00000000" + ndpTarget, Heeded, refused(packet.UnspecifiedSource), ""},
		{"cut to 20 bytes of ICMP", ndpHeader + "6000000000143aff" + ndpAddrs + "8700153f00000000 20010db80077000000000000", Malformed, refused(packet.Truncated), ""},
		{"payload length beyond the frame", ndpHeader + "6000000001003aff" + ndpAddrs + "8700153f00000000" + ndpTarget + ndpLinkOpt, Heeded, refused(packet.Truncated), ""},
		{"hop-by-hop header in front", ndpHeader + "60000000002800ff" + ndpAddrs + "3a00050200000000 8700153f00000000" + ndpTarget + ndpLinkOpt, refused(packet.NotNDP), refused(packet.NotICMPv6), ""},

		// These report a stranger: nothing after them finds a quiet segment.
		{"duplicate address detection", ndpHeader + "6000000000183aff" + unspec + "ff0200000000000000000001ff000200 8700487800000000" + ndpTarget, Heeded, Heeded, naToAll},
		{"probe of a stranger", "ffffffffffff 020000000066" + arpHeader + "020000000066 00000000 000000000000 0a4d00c8", Heeded, Heeded,
			"eth 02:00:00:00:00:11 > 02:00:00:00:00:66\narp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 0.0.0.0 (02:00:00:00:00:66)"},
		{"announcement of a stranger", "ffffffffffff 020000000066" + arpHeader + "020000000066 0a4d00c8 000000000000 0a4d00c8", Heeded, StrangerClaim,
			"eth 02:00:00:00:00:11 > ff:ff:ff:ff:ff:ff\narp request who-has 10.77.0.200 tell 10.77.0.200 (02:00:00:00:00:11)"},
	}
}
