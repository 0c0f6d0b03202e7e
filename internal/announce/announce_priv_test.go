package announce

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestPeerKernelLearns: the neighbour table of another kernel is the judge.
func TestPeerKernelLearns(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip4, vip6))
	for _, addr := range []netip.Addr{vip4, vip6} {
		c.expectReachable(addr, ownMAC)
	}
	if n := h.count("arp_sent_reply"); n == 0 {
		t.Error("no reply was counted")
	}
	if n := h.count("ndp_sent_reply"); n == 0 {
		t.Error("no advertisement was counted")
	}
}

// TestTakeoverMovesEntries: who has the old owner's address in his table gets
// the new one from the announcement alone.
func TestTakeoverMovesEntries(t *testing.T) {
	c := newCable(t)
	link, err := c.client.Netlink.LinkByName("eth0")
	c.must(err)
	for _, addr := range []netip.Addr{vip4, vip6} {
		c.must(c.client.Netlink.NeighAdd(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, IP: addr.AsSlice(),
			HardwareAddr: memberMAC[:], State: netlink.NUD_STALE,
		}))
	}
	h := c.announcer(Options{})
	h.announce(c.link(vip4, vip6))
	for _, addr := range []netip.Addr{vip4, vip6} {
		eventually(t, "the entry moves", func() bool {
			mac, _ := c.neighbour(addr)
			return mac == ownMAC
		})
	}
}

// TestSolicitedAnswerMovesEntries: a client that has missed the announcements
// finds the new owner as soon as it asks itself, because Override is set.
func TestSolicitedAnswerMovesEntries(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip6))
	eventually(t, "the first announcement is out", func() bool { return h.count("ndp_sent_advertisement") > 0 })
	link, err := c.client.Netlink.LinkByName("eth0")
	c.must(err)
	c.must(c.client.Netlink.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, IP: vip6.AsSlice(),
		HardwareAddr: memberMAC[:], State: netlink.NUD_STALE,
	}))
	tp := c.tap()
	tp.send(solicit(clientMAC, client6, vip6).Bytes())
	eventually(t, "the entry moves", func() bool {
		mac, _ := c.neighbour(vip6)
		return mac == ownMAC
	})
	if n := h.count("ndp_sent_reply"); n == 0 {
		t.Error("no solicited advertisement was sent")
	}
}

// TestUntrackedAdvertisementIsTaken: one unsolicited advertisement is enough
// for a router that has no entry yet (RFC 9131).
func TestUntrackedAdvertisementIsTaken(t *testing.T) {
	t.Parallel()
	c := newCable(t)
	c.must(c.client.sysctl("net/ipv6/conf/eth0/forwarding", "1"))
	c.must(c.client.sysctl("net/ipv6/conf/eth0/accept_untracked_na", "1"))
	h := c.announcer(Options{})
	h.announce(c.link(vip6))
	eventually(t, "the router has a stale entry", func() bool {
		mac, state := c.neighbour(vip6)
		return mac == ownMAC && state&netlink.NUD_STALE != 0
	})
}

func TestFieldFramesOnTheWire(t *testing.T) {
	t.Parallel()
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip4, vip6))
	// The bursts would be taken for answers.
	eventually(t, "the bursts are over", func() bool {
		return h.count("arp_sent_gratuitous_reply") == burstCount && h.count("ndp_sent_advertisement") == burstCount
	})
	tp := c.tap()
	for _, tc := range fieldFrames() {
		b := unhex(t, tc.hex)
		family := ARP
		if b[12] == 0x86 {
			family = NDP
		}
		reason := tc.ignored
		if tc.kernel != Heeded {
			reason = tc.kernel
		}
		counter := family.String() + "_ignored_" + reason.String()
		before := h.count(counter)
		tp.send(b)
		if reason != Heeded {
			eventually(t, tc.name+" is counted as "+counter, func() bool { return h.count(counter) > before })
		}
		// An answer is on the wire before the frame is counted, if it is both.
		if tc.answer == "" {
			continue
		}
		vip := vip4
		if family == NDP {
			vip = vip6
		}
		f, ok := tp.receive(patience, func(f packet.Frame) bool { return f.ARP.SenderIP == vip || f.NDP.Target == vip })
		if !ok {
			t.Errorf("%s: no answer", tc.name)
		} else if d := cmp.Diff(tc.answer, f.String()); d != "" {
			t.Errorf("%s: answer (-want +got):\n%s", tc.name, d)
		}
	}
	if f, ok := tp.receive(50*time.Millisecond, func(f packet.Frame) bool { return f.ARP.SenderIP == vip4 || f.NDP.Target == vip6 }); ok {
		t.Errorf("one more answer:\n%v", f)
	}
}

// TestTaggedForNobody: the kernel delivers a frame of a VLAN that the interface
// doesn't have, as one for another host.
func TestTaggedForNobody(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip4))
	f := arp(packet.ARPRequest, clientMAC, client4, vip4)
	f.Eth.Tagged, f.Eth.Tag = true, 7
	c.tap().send(f.Bytes())
	eventually(t, "the frame is counted", func() bool { return h.count("arp_ignored_other_host") == 1 })
	if n := h.count("arp_sent_reply"); n != 0 {
		t.Errorf("%d replies", n)
	}
}

func TestGroupsOfTheKernel(t *testing.T) {
	group := packet.SolicitedNode(vip6)
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip6, twin6))
	eventually(t, "the group is joined", func() bool { return c.inGroup(group) })
	h.announce(c.link(twin6))
	c.expectReachable(twin6, ownMAC)
	if !c.inGroup(group) {
		t.Error("the first removal has left the group")
	}
	h.announce(c.link(vip4))
	eventually(t, "the group is left", func() bool { return !c.inGroup(group) })

	// A node address in the same group keeps it.
	link, err := c.host.Netlink.LinkByName("eth0")
	c.must(err)
	own, err := netlink.ParseAddr("2001:db8:78::200/64")
	c.must(err)
	own.Flags = unix.IFA_F_NODAD
	c.must(c.host.Netlink.AddrAdd(link, own))
	h.announce(c.link(vip6))
	eventually(t, "the group is joined", func() bool { return c.inGroup(group) && len(h.Status()) == 1 })
	h.announce()
	eventually(t, "the sockets are closed", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.wires) == 0 && len(h.retired) == 0
	})
	if !c.inGroup(group) {
		t.Error("the node's own group was left")
	}
}

func TestProbeFindsAStranger(t *testing.T) {
	c := newCable(t)
	link, err := c.client.Netlink.LinkByName("eth0")
	c.must(err)
	for _, a := range []string{vip4.String() + "/24", vip6.String() + "/64"} {
		addr, err := netlink.ParseAddr(a)
		c.must(err)
		if addr.IP.To4() == nil {
			addr.Flags = unix.IFA_F_NODAD
		}
		c.must(c.client.Netlink.AddrAdd(link, addr))
	}
	l := c.link(vip4, other4, vip6)
	for i := range l.Entries {
		l.Entries[i].Probe = true
	}
	h := c.announcer(Options{})
	c.must(h.Set(Desired{Links: []Link{l}}))
	want := []Status{
		{Interface: "eth0", Addr: vip4, State: Conflict, Stranger: clientMAC},
		{Interface: "eth0", Addr: other4, State: Announcing},
		{Interface: "eth0", Addr: vip6, State: Conflict, Stranger: clientMAC},
	}
	var got []Status
	eventually(t, "probing is over", func() bool {
		got = h.Status()
		return len(got) == 3 && got[0].State == Conflict && got[1].State == Announcing && got[2].State == Conflict
	})
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if n := h.count("arp_sent_gratuitous_request"); n > burstCount {
		t.Errorf("%d announcements", n)
	}
}

func TestInterfaceChanges(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip4, vip6))
	expect := func(mac lb.MAC) {
		t.Helper()
		for _, addr := range []netip.Addr{vip4, vip6} {
			c.expectReachable(addr, mac)
		}
	}
	expect(ownMAC)

	// Another hardware address, learnt by the client without asking.
	link, err := c.host.Netlink.LinkByName("eth0")
	c.must(err)
	moved := ownMAC
	moved[5] = 0x99
	c.must(c.host.Netlink.LinkSetHardwareAddr(link, moved[:]))
	l := c.link(vip4, vip6)
	l.MAC = moved
	h.announce(l)
	eventually(t, "the client learns the new hardware address", func() bool {
		m4, _ := c.neighbour(vip4)
		m6, _ := c.neighbour(vip6)
		return m4 == moved && m6 == moved
	})
	expect(moved)

	// Another name, the same index.
	c.must(c.host.Netlink.LinkSetDown(link))
	c.must(c.host.Netlink.LinkSetName(link, "uplink0"))
	c.must(c.host.Netlink.LinkSetUp(link))
	l.Name = "uplink0"
	h.announce(l)
	expect(moved)

	// Taken away: nothing is announced, and the reason is said.
	c.unplug()
	eventually(t, "the loss is noticed", func() bool {
		for _, s := range h.Status() {
			if s.State != Waiting || !strings.Contains(s.Err, "uplink0") {
				return false
			}
		}
		return true
	})
	// Made anew, under the first name and another index.
	c.plug()
	h.announce(c.link(vip4, vip6))
	expect(ownMAC)
	if !c.inGroup(packet.SolicitedNode(vip6)) {
		t.Error("the group was not joined again")
	}
}

func TestIPv6Disabled(t *testing.T) {
	c := newCable(t)
	c.must(c.host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "1"))
	h := c.announcer(Options{})
	c.must(h.Set(Desired{Links: []Link{c.link(vip4, vip6)}}))
	eventually(t, "ARP goes on, NDP waits", func() bool {
		s := h.Status()
		return s[0].State == Announcing && s[1].State == Waiting && strings.Contains(s[1].Err, ErrIPv6Disabled.Error())
	})
	c.expectReachable(vip4, ownMAC)
	c.must(c.host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "0"))
	eventually(t, "NDP goes on", func() bool { return h.Status()[1].State == Announcing })
	c.expectReachable(vip6, ownMAC)
}

// IPv6 switched off under a running announcer is found and said, and switched
// on again everything comes back, the groups included.
func TestIPv6SwitchedOff(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	h.announce(c.link(vip6))
	c.must(c.host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "1"))
	eventually(t, "the address waits", func() bool {
		s := h.Status()[0]
		return s.State == Waiting && s.Err == ErrIPv6Disabled.Error()
	})
	c.must(c.host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "0"))
	eventually(t, "it is announced again", func() bool {
		return h.Status()[0].State == Announcing && c.inGroup(packet.SolicitedNode(vip6))
	})
}
