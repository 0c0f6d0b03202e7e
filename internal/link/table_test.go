package link

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func prefixes(ss ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range ss {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func linkEvent(typ uint16, family uint8, a netlink.LinkAttrs) netlink.LinkUpdate {
	u := netlink.LinkUpdate{Header: unix.NlMsghdr{Type: typ}, Link: &netlink.Device{LinkAttrs: a}}
	u.Family, u.Index = family, int32(a.Index)
	return u
}

func addrEvent(index int, cidr string, flags int, added bool) netlink.AddrUpdate {
	ip, n, err := net.ParseCIDR(cidr)
	if err != nil {
		panic(err)
	}
	return netlink.AddrUpdate{LinkIndex: index, LinkAddress: net.IPNet{IP: ip, Mask: n.Mask}, Flags: flags, NewAddr: added}
}

func attrs(index int, name string) netlink.LinkAttrs {
	return netlink.LinkAttrs{
		Index: index, Name: name, MTU: 1500, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, byte(index)},
		RawFlags: unix.IFF_UP | unix.IFF_RUNNING | unix.IFF_LOWER_UP,
	}
}

// Leaving a bridge is reported as the deletion of a link, in the family of
// bridges.
func TestLeavingABridgeIsNoDeletion(t *testing.T) {
	tb := newTable()
	tb.applyLink(linkEvent(unix.RTM_NEWLINK, unix.AF_UNSPEC, attrs(3, "eth0")))
	tb.applyLink(linkEvent(unix.RTM_DELLINK, unix.AF_BRIDGE, attrs(3, "eth0")))
	if i, ok := tb.state().ByName("eth0"); !ok || !i.Usable() {
		t.Fatalf("eth0 = %+v, %v; want it usable", i, ok)
	}
	tb.applyLink(linkEvent(unix.RTM_DELLINK, unix.AF_UNSPEC, attrs(3, "eth0")))
	if _, ok := tb.state().ByName("eth0"); ok {
		t.Fatal("eth0 is still there after its deletion")
	}
}

func TestPoorEventAsksForADump(t *testing.T) {
	tb := newTable()
	if tb.applyLink(linkEvent(unix.RTM_NEWLINK, unix.AF_UNSPEC, netlink.LinkAttrs{Index: 3, Name: "wlan0"})) {
		t.Fatal("an event without attributes was taken for whole")
	}
	if n := len(tb.state().Interfaces); n != 0 {
		t.Fatalf("%d interfaces after it, want 0", n)
	}
}

func TestInterfaceFlags(t *testing.T) {
	const all = unix.IFF_UP | unix.IFF_RUNNING | unix.IFF_LOWER_UP
	for _, c := range []struct {
		name   string
		flags  uint32
		mac    net.HardwareAddr
		usable bool
	}{
		{"up", all, net.HardwareAddr{2, 0, 0, 0, 0, 1}, true},
		{"administratively down", all &^ unix.IFF_UP, net.HardwareAddr{2, 0, 0, 0, 0, 1}, false},
		{"no carrier", all &^ unix.IFF_LOWER_UP, net.HardwareAddr{2, 0, 0, 0, 0, 1}, false},
		{"dormant", all &^ unix.IFF_RUNNING, net.HardwareAddr{2, 0, 0, 0, 0, 1}, false},
		{"tunnel", all, net.HardwareAddr{10, 0, 0, 1}, false},
		{"infiniband", all, make(net.HardwareAddr, 20), false},
	} {
		i := interfaceOf(&netlink.LinkAttrs{Name: "x", RawFlags: c.flags, HardwareAddr: c.mac})
		if i.Usable() != c.usable {
			t.Errorf("%s: usable %v, want %v", c.name, i.Usable(), c.usable)
		}
	}
}

func TestAddressFlags(t *testing.T) {
	for _, c := range []struct {
		name   string
		flags  int
		usable bool
	}{
		{"permanent", unix.IFA_F_PERMANENT, true},
		{"deprecated", unix.IFA_F_DEPRECATED, true},
		{"tentative", unix.IFA_F_TENTATIVE, false},
		{"optimistic", unix.IFA_F_TENTATIVE | unix.IFA_F_OPTIMISTIC, true},
		{"failed", unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED, false},
	} {
		tb := newTable()
		tb.applyLink(linkEvent(unix.RTM_NEWLINK, unix.AF_UNSPEC, attrs(3, "eth0")))
		tb.applyAddr(addrEvent(3, "fd00::1/64", c.flags, true))
		i, _ := tb.state().ByName("eth0")
		if got := i.Has(netip.MustParseAddr("fd00::1")); got != c.usable {
			t.Errorf("%s: listed %v, want %v", c.name, got, c.usable)
		}
	}
}

// However the two streams interleave, the outcome is the same, and it is that
// of a list of facts kept the dumb way.
func TestTableAgreesWithFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type fact struct {
			index int
			cidr  string
		}
		var links []netlink.LinkUpdate
		var addrs []netlink.AddrUpdate
		exists := make(map[int]bool)
		has := make(map[fact]bool)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			index := rapid.IntRange(1, 4).Draw(t, "index")
			if rapid.Bool().Draw(t, "link") {
				exists[index] = rapid.Bool().Draw(t, "exists")
				typ := uint16(unix.RTM_DELLINK)
				if exists[index] {
					typ = unix.RTM_NEWLINK
				}
				links = append(links, linkEvent(typ, unix.AF_UNSPEC, attrs(index, string(rune('a'+index)))))
			} else {
				f := fact{index, rapid.SampledFrom([]string{"10.0.0.1/8", "10.0.0.1/24", "10.0.0.2/8", "fd00::1/64"}).Draw(t, "cidr")}
				has[f] = rapid.Bool().Draw(t, "has")
				addrs = append(addrs, addrEvent(f.index, f.cidr, 0, has[f]))
			}
		}
		tb := newTable()
		for len(links)+len(addrs) > 0 {
			if len(addrs) == 0 || len(links) > 0 && rapid.Bool().Draw(t, "link first") {
				tb.applyLink(links[0])
				links = links[1:]
			} else {
				tb.applyAddr(addrs[0])
				addrs = addrs[1:]
			}
		}
		got := tb.state()
		for index := 1; index <= 4; index++ {
			i, ok := got.ByName(string(rune('a' + index)))
			if ok != exists[index] {
				t.Fatalf("interface %d listed %v, want %v", index, ok, exists[index])
			}
			n := 0
			for f, want := range has {
				if f.index == index && want && ok {
					n++
					if p := netip.MustParsePrefix(f.cidr); !i.Has(p.Addr()) {
						t.Fatalf("interface %d lacks %s", index, f.cidr)
					}
				}
			}
			if len(i.Addrs) != n {
				t.Fatalf("interface %d has %v, want %d addresses", index, i.Addrs, n)
			}
		}
	})
}
