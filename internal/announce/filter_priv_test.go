package announce

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/packet"
	"golang.org/x/sys/unix"
)

// TestLoudSegment: requests for other addresses wake nobody, however many.
func TestLoudSegment(t *testing.T) {
	const requests = 100_000
	c := newCable(t)
	// The kernel of the client stays out of the counts.
	c.must(c.client.sysctl("net/ipv4/conf/eth0/arp_ignore", "8"))
	h := c.announcer(Options{})
	h.announce(c.link(vip4))
	socket := h.sockets.last[ARP].Load()
	if _, err := socket.conn.Stats(); err != nil { // reading resets
		t.Fatal(err)
	}
	ignored, reads := h.count("arp_ignored_not_announced"), h.sockets.reads.Load()

	// A bare loop of system calls: the sender doesn't sleep either.
	frame := arp(packet.ARPRequest, clientMAC, client4, other4).Bytes()
	var before, after unix.Rusage
	c.must(c.client.do(func() error {
		index, err := c.client.Netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		to := &unix.SockaddrLinklayer{Ifindex: index.Attrs().Index}
		if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
			return err
		}
		for range requests {
			if err := unix.Sendto(fd, frame, 0, to); err != nil {
				return err
			}
		}
		return unix.Getrusage(unix.RUSAGE_SELF, &after)
	}))
	eventually(t, "the kernel has counted them all", func() bool {
		return h.count("arp_ignored_not_announced")-ignored == requests
	})
	stats, err := socket.conn.Stats()
	c.must(err)
	if stats.Packets != 0 || stats.Drops != 0 {
		t.Errorf("the socket took %d frames and dropped %d", stats.Packets, stats.Drops)
	}
	if n := h.sockets.reads.Load() - reads; n != 0 {
		t.Errorf("the reader was woken %d times", n)
	}
	// The rest of the process (timers, garbage collection, the runtime's own
	// threads on a busy machine) sleeps now and then, but not with each frame.
	if n := after.Nvcsw - before.Nvcsw; n > requests/10 {
		t.Errorf("the process went to sleep and was woken %d times", n)
	}
	c.expectReachable(vip4, ownMAC)
}

// TestFilterIsTheSieve: the program in the kernel and its model in Go agree
// about random frames near the interesting ones.
func TestFilterIsTheSieve(t *testing.T) {
	c := newCable(t)
	// No frames but ours.
	c.must(c.client.sysctl("net/ipv6/conf/eth0/disable_ipv6", "1"))
	c.must(c.client.sysctl("net/ipv4/conf/eth0/arp_ignore", "8"))
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	tp := c.tap()
	sockets := &spaceSockets{space: c.host}
	for f := range numFamilies {
		socket, err := sockets.Open(c.link(), f)
		c.must(err)
		raw := socket.(countedSocket).rawSocket
		defer raw.Close()
		want := map[netip.Addr]Interest{vip4: Questions | Claims, other4: Claims}
		last := arp(packet.ARPReply, strangerMAC, vip4, client4).Bytes()
		if f == NDP {
			want = map[netip.Addr]Interest{vip6: Questions | Claims, twin6: Claims}
			last = packet.Unsolicited(strangerMAC, vip6).Bytes()
		}
		for a, what := range want {
			c.must(raw.Want(a, what))
		}

		before, err := raw.Dropped()
		c.must(err)
		expected := before
		var passed [][]byte
		for range 500 {
			b := randomFrame(random, f)
			if why := sieve(f, b, want); why != Heeded {
				expected[why]++
			} else {
				passed = append(passed, b)
			}
			tp.send(b)
		}
		passed = append(passed, last) // known to pass: the others are in by then
		tp.send(last)
		c.must(raw.conn.SetReadDeadline(time.Now().Add(patience)))
		buf := make([]byte, 2048)
		for _, b := range passed {
			n, err := raw.Read(buf)
			c.must(err)
			if !bytes.Equal(buf[:n], b) {
				t.Fatalf("%s: the filter let through %x, the model %x", f, buf[:n], b)
			}
		}
		got, err := raw.Dropped()
		c.must(err)
		for i := range got {
			if got[i] != expected[i] {
				t.Errorf("%s: the filter counts %d %s, the model %d", f, got[i]-before[i], Ignored(i), expected[i]-before[i])
			}
		}
		if len(passed) < 50 {
			t.Errorf("%s: only %d frames passed", f, len(passed))
		}

		// Wanted no more.
		for a := range want {
			c.must(raw.Want(a, 0))
			c.must(raw.Want(a, 0))
		}
		tp.send(last)
		eventually(t, "it is not let through any more", func() bool {
			now, err := raw.Dropped()
			return err == nil && now[NotRequest] == got[NotRequest]+1
		})
	}
}

// randomFrame is a message between interesting addresses, spoilt now and then.
func randomFrame(r *rand.Rand, f Family) []byte {
	pick4 := func() netip.Addr {
		return []netip.Addr{vip4, other4, client4, netip.IPv4Unspecified()}[r.IntN(4)]
	}
	pick6 := func() netip.Addr {
		return []netip.Addr{vip6, twin6, client6, netip.IPv6Unspecified()}[r.IntN(4)]
	}
	var b []byte
	if f == ARP {
		b = arp(packet.ARPOp(1+r.IntN(2)), clientMAC, pick4(), pick4()).Bytes()
	} else {
		m := packet.Unsolicited(clientMAC, vip6)
		if r.IntN(2) == 0 {
			m = packet.Detect(clientMAC, vip6)
		}
		m.NDP.Src, m.NDP.Target = pick6(), pick6()
		b = m.Bytes()
	}
	switch r.IntN(4) {
	case 0: // one byte behind the EtherType is another one
		b[14+r.IntN(len(b)-14)] = byte(r.Uint32())
	case 1:
		b = b[:14+r.IntN(len(b)-14)]
	}
	return b
}

// TestMembershipsSpread: one socket holds no more memberships than its option
// memory has room for.
func TestMembershipsSpread(t *testing.T) {
	const addresses = 5000
	c := newCable(t)
	sockets := &spaceSockets{space: c.host}
	g, err := sockets.Groups(c.link())
	c.must(err)
	defer g.Close()
	var groups []netip.Addr
	for i := range addresses {
		groups = append(groups, packet.SolicitedNode(netip.AddrFrom16([16]byte{0x20, 1, 14: byte(i >> 8), 15: byte(i)})))
	}
	slices.SortFunc(groups, netip.Addr.Compare)
	c.must(g.Set(groups))
	m := g.(spaceGroups).Groups.(*memberships)
	if len(m.joined) != addresses || len(m.sockets) < 2 {
		t.Errorf("%d groups on %d sockets", len(m.joined), len(m.sockets))
	}
	for _, a := range []netip.Addr{groups[0], groups[addresses-1]} {
		if !c.inGroup(a) {
			t.Errorf("not in %s", a)
		}
	}
	c.must(g.Set(groups[1:]))
	if c.inGroup(groups[0]) || !c.inGroup(groups[1]) {
		t.Error("one group should have been left, and only that")
	}
	c.must(g.Close())
	if c.inGroup(groups[1]) {
		t.Error("still a member after Close")
	}
}

// TestOpenNeedsAnInterface: what the kernel says reaches the status.
func TestOpenNeedsAnInterface(t *testing.T) {
	c := newCable(t)
	h := c.announcer(Options{})
	l := c.link(vip4)
	l.Index = 9999
	c.must(h.Set(Desired{Links: []Link{l}}))
	want := "open the arp socket on eth0: "
	eventually(t, "the reason is in the status", func() bool {
		s := h.Status()[0]
		return s.State == Waiting && len(s.Err) > len(want) && s.Err[:len(want)] == want
	})
}
