package announce

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
	"github.com/fairlead-lb/fairlead/internal/metrics"
	"github.com/fairlead-lb/fairlead/internal/packet"
	rawpacket "github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for something that the kernel does at once.
const patience = 5 * time.Second

// space is a network namespace.
type space struct{ *linktest.NS }

// do runs f in the namespace.
func (s space) do(f func() error) (err error) {
	s.Do(func() { err = f() })
	return err
}

// Sockets of the namespace, counting what is read from them.
type spaceSockets struct {
	space space
	reads atomic.Int64
	last  [numFamilies]atomic.Pointer[rawSocket]
}

type countedSocket struct {
	*rawSocket
	reads *atomic.Int64
	space space
}

func (c countedSocket) Check() error { return c.space.do(c.rawSocket.Check) }

func (c countedSocket) Read(b []byte) (int, error) {
	n, err := c.rawSocket.Read(b)
	c.reads.Add(1)
	return n, err
}

func (s *spaceSockets) Open(link Link, family Family) (socket Socket, err error) {
	err = s.space.do(func() error {
		opened, err := NewSockets().Open(link, family)
		if err != nil {
			return err
		}
		raw := opened.(*rawSocket)
		s.last[family].Store(raw)
		socket = countedSocket{raw, &s.reads, s.space}
		return nil
	})
	return socket, err
}

type spaceGroups struct {
	Groups
	space space
}

func (g spaceGroups) Set(groups []netip.Addr) error {
	return g.space.do(func() error { return g.Groups.Set(groups) })
}

func (s *spaceSockets) Groups(link Link) (Groups, error) {
	g, err := NewSockets().Groups(link)
	return spaceGroups{g, s.space}, err
}

// cable is a host and a client, connected by their interfaces eth0.
type cable struct {
	t            *testing.T
	host, client space
	index        int // of the host's eth0
}

func newCable(t *testing.T) *cable {
	t.Helper()
	c := &cable{t: t, host: space{linktest.New(t)}, client: space{linktest.New(t)}}
	c.plug()
	return c
}

// plug makes the cable; it can be made anew after unplug.
func (c *cable) plug() {
	c.t.Helper()
	linktest.Cable(c.t, c.host.NS, "eth0", c.client.NS, "eth0")
	for _, end := range []struct {
		space
		mac   lb.MAC
		addrs []string
	}{
		{c.host, ownMAC, []string{"10.77.0.11/24", "2001:db8:77::11/64"}},
		{c.client, clientMAC, []string{client4.String() + "/24", client6.String() + "/64"}},
	} {
		c.must(end.Netlink.LinkSetHardwareAddr(end.Link(c.t, "eth0"), end.mac[:]))
		for _, a := range end.addrs {
			end.AddAddr(c.t, "eth0", a)
		}
	}
	c.index = c.host.Link(c.t, "eth0").Attrs().Index
}

func (c *cable) unplug() {
	c.t.Helper()
	link, err := c.host.Netlink.LinkByIndex(c.index)
	c.must(err)
	c.must(c.host.Netlink.LinkDel(link))
}

func (c *cable) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// link is what to announce on the host's eth0.
func (c *cable) link(addrs ...netip.Addr) Link {
	l := testLink(addrs...)
	l.Index = c.index
	return l
}

// hostAnnouncer is an announcer on the host.
type hostAnnouncer struct {
	*Announcer
	t       *testing.T
	sockets *spaceSockets
	set     *metrics.Set
}

func (c *cable) announcer(opts Options) *hostAnnouncer {
	c.t.Helper()
	h := &hostAnnouncer{t: c.t, sockets: &spaceSockets{space: c.host}, set: metrics.NewSet()}
	opts.Sockets = h.sockets
	h.Announcer = New(slog.New(slog.DiscardHandler), h.set, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
	h.Extend(time.Now().Add(time.Hour))
	return h
}

// announce sets the links and waits until everything is announced.
func (h *hostAnnouncer) announce(links ...Link) {
	h.t.Helper()
	if err := h.Set(Desired{Links: links}); err != nil {
		h.t.Fatal(err)
	}
	eventually(h.t, "all is announced", func() bool {
		return !slices.ContainsFunc(h.Status(), func(s Status) bool { return s.State != Announcing && s.State != Contested })
	})
}

// count reads a counter, the kernel's share included.
func (h *hostAnnouncer) count(name string) uint64 {
	h.Status()
	return h.set.Map()[name]
}

// eventually polls until ok, for things that the kernel does on its own.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-tick.C
	}
}

// tap sends and receives raw frames on the client's eth0.
type tap struct {
	t    *testing.T
	conn *rawpacket.Conn
}

func (c *cable) tap() *tap {
	c.t.Helper()
	tp := &tap{t: c.t}
	c.must(c.client.do(func() error {
		ifi, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		tp.conn, err = rawpacket.Listen(ifi, rawpacket.Raw, unix.ETH_P_ALL, nil)
		return err
	}))
	c.t.Cleanup(func() { _ = tp.conn.Close() })
	return tp
}

func (tp *tap) send(b []byte) {
	tp.t.Helper()
	if _, err := tp.conn.WriteTo(b, &rawpacket.Addr{HardwareAddr: b[:6]}); err != nil {
		tp.t.Fatal(err)
	}
}

// receive returns the next frame from the host that ok accepts, or false when
// there is none for that long.
func (tp *tap) receive(within time.Duration, ok func(packet.Frame) bool) (packet.Frame, bool) {
	tp.t.Helper()
	if err := tp.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		tp.t.Fatal(err)
	}
	b := make([]byte, 2048)
	for {
		n, _, err := tp.conn.ReadFrom(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return packet.Frame{}, false
		}
		if err != nil {
			tp.t.Fatal(err)
		}
		if f, why := packet.Parse(b[:n]); why == packet.Accepted && f.Eth.Src != clientMAC && ok(f) {
			return f, true
		}
	}
}

// ask makes the client's kernel send a packet to addr, so that it has to learn
// where it is.
func (c *cable) ask(addr netip.Addr) {
	c.t.Helper()
	c.must(c.client.do(func() error {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 9)))
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		return err
	}))
}

// neighbour is what the client's kernel knows about addr.
func (c *cable) neighbour(addr netip.Addr) (mac lb.MAC, state int) {
	c.t.Helper()
	link, err := c.client.Netlink.LinkByName("eth0")
	c.must(err)
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	all, err := c.client.Netlink.NeighList(link.Attrs().Index, family)
	c.must(err)
	for _, n := range all {
		if a, ok := netip.AddrFromSlice(n.IP); ok && a.Unmap() == addr && len(n.HardwareAddr) == 6 {
			return lb.MAC(n.HardwareAddr), n.State
		}
	}
	return lb.MAC{}, 0
}

// expectReachable waits until the client's kernel has asked for addr and was
// told mac. An announcement that comes between forgetting and asking makes an
// entry that the kernel uses for 5 s before it asks: it has to forget again.
func (c *cable) expectReachable(addr netip.Addr, mac lb.MAC) {
	c.t.Helper()
	const stale = netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_FAILED
	c.forget(addr)
	c.ask(addr)
	eventually(c.t, "the client's kernel resolves "+addr.String(), func() bool {
		got, state := c.neighbour(addr)
		switch {
		case state&stale != 0:
			c.forget(addr)
			c.ask(addr)
		case got != mac:
			c.ask(addr)
		}
		return got == mac && state&netlink.NUD_REACHABLE != 0
	})
}

// forget empties the client's neighbour table for addr.
func (c *cable) forget(addr netip.Addr) {
	c.t.Helper()
	link, err := c.client.Netlink.LinkByName("eth0")
	c.must(err)
	_ = c.client.Netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: addr.AsSlice()})
}

// inGroup reports whether the host's eth0 listens to a group.
func (c *cable) inGroup(group netip.Addr) bool {
	c.t.Helper()
	hex := group.StringExpanded()
	var table []byte
	c.must(c.host.do(func() (err error) {
		table, err = os.ReadFile("/proc/thread-self/net/igmp6")
		return err
	}))
	return strings.Contains(string(table), strings.ReplaceAll(hex, ":", ""))
}

// sysctl writes a setting of the namespace.
func (s space) sysctl(key, value string) error {
	return s.do(func() error { return os.WriteFile("/proc/sys/"+key, []byte(value), 0o644) })
}
