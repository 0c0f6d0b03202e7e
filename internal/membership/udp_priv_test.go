package membership

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/packet"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside opens the real sockets in a namespace.
type inside struct{ ns *linktest.NS }

func (i inside) open(l Link, port uint16, peers []netip.Addr) (c conn, err error) {
	i.ns.Do(func() { c, err = udp{}.open(l, port, peers) })
	return c, err
}

// host is a namespace with a Heartbeat on its eth0.
type host struct {
	*Heartbeat
	ns   *linktest.NS
	addr netip.Addr
	set  *metrics.Set

	mu     sync.Mutex
	latest map[string]Event
	losses map[string]int
}

// pair is two namespaces with a cable, eth0 to eth0.
func pair(t *testing.T) (a, b *linktest.NS) {
	t.Helper()
	a, b = linktest.New(t), linktest.New(t)
	linktest.Cable(t, a, "eth0", b, "eth0")
	a.AddAddr(t, "eth0", "192.0.2.1/24")
	a.AddAddr(t, "eth0", "2001:db8::1/64")
	b.AddAddr(t, "eth0", "192.0.2.2/24")
	b.AddAddr(t, "eth0", "2001:db8::2/64")
	return a, b
}

// start runs a Heartbeat in ns that speaks from addr.
func start(t *testing.T, ns *linktest.NS, cfg Config, addr string) *host {
	t.Helper()
	h := &host{
		ns: ns, addr: netip.MustParseAddr(addr), set: metrics.NewSet(),
		latest: make(map[string]Event), losses: make(map[string]int),
	}
	var err error
	if h.Heartbeat, err = New(cfg, slog.New(slog.DiscardHandler), h.set); err != nil {
		t.Fatal(err)
	}
	h.net = inside{ns}
	h.setLink(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	running.Go(func() { h.loop(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h.Publish("eth0", election.Beat{Claims: []election.Claim{{Addr: h.addr, Epoch: 1}}}, true)
	return h
}

// setLink describes eth0 as it is now.
func (h *host) setLink(t *testing.T) {
	t.Helper()
	a := h.ns.Link(t, "eth0").Attrs()
	l := Link{Name: "eth0", Index: a.Index, MAC: lb.MAC(a.HardwareAddr), Addr: h.addr, MTU: a.MTU}
	if err := h.Set([]Link{l}); err != nil {
		t.Fatal(err)
	}
}

func (h *host) loop(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.Confirm()
		case ev := <-h.Events():
			h.mu.Lock()
			h.latest[ev.Peer.Node] = ev
			if ev.Lost {
				h.losses[ev.Peer.Node]++
			}
			h.mu.Unlock()
		}
	}
}

// about returns the last event of a node.
func (h *host) about(node string) Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest[node]
}

func (h *host) hears(node string) bool {
	ev := h.about(node)
	return ev.Peer.Node == node && !ev.Lost
}

func (h *host) dropped(d Drop) uint64 { return h.set.Map()["heartbeat_dropped_"+d.String()] }

// eventually waits until ok holds.
func (h *host) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: links %+v, counters %v", what, h.Links(), h.set.Map())
		}
	}
}

func TestRealSockets(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"IPv4", "192.0.2.1", "192.0.2.2"},
		{"IPv6", "2001:db8::1", "2001:db8::2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nsA, nsB := pair(t)
			a := start(t, nsA, Config{Node: "a", Key: testKey}, c.a)
			b := start(t, nsB, Config{Node: "b", Key: testKey}, c.b)
			a.eventually(t, "both hear each other", func() bool {
				return a.hears("b") && a.about("b").Peer.HearsUs && b.hears("a") && b.about("a").Peer.HearsUs
			})
			ev := a.about("b")
			if ev.Peer.Addr != b.addr || ev.Peer.MAC != b.Links()[0].Link.MAC || ev.Beat.Claims[0].Addr != b.addr {
				t.Errorf("a heard %+v", ev)
			}
			// Large heartbeats are split.
			b.Publish("eth0", claims(500, 3), true)
			a.eventually(t, "the last part", func() bool {
				cs := a.about("b").Beat.Claims
				return len(cs) > 0 && cs[len(cs)-1].Addr == claims(500, 3).Claims[499].Addr
			})
			nsB.Down(t, "eth0")
			a.eventually(t, "the loss of b", func() bool { return !a.hears("b") })
			nsB.Up(t, "eth0")
			if c.name == "IPv6" {
				nsB.AddAddr(t, "eth0", "2001:db8::2/64") // the kernel drops it with the link
			}
			a.eventually(t, "b's return", func() bool { return a.hears("b") })
			if len(a.set.Map()) != 0 {
				t.Errorf("a dropped something: %v", a.set.Map())
			}
		})
	}
}

func TestRealKeys(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "a", Key: testKey}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "b", Key: []byte("another key")}, "192.0.2.2")
	a.eventually(t, "foreign heartbeats on both sides", func() bool {
		return a.dropped(ForeignKey) > 3 && b.dropped(ForeignKey) > 3
	})
	if a.hears("b") || b.hears("a") {
		t.Error("clusters with different keys merged")
	}
}

func TestRealDuplicateName(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "same", Key: testKey}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "same", Key: testKey}, "192.0.2.2")
	a.eventually(t, "the complaint on both sides", func() bool {
		return a.dropped(DuplicateNode) > 3 && b.dropped(DuplicateNode) > 3
	})
	if a.hears("same") || b.hears("same") {
		t.Error("two nodes of one name were merged")
	}
}

// tap is an AF_PACKET socket on eth0.
func tap(t *testing.T, ns *linktest.NS) *packet.Conn {
	t.Helper()
	a := ns.Link(t, "eth0").Attrs()
	var c *packet.Conn
	var err error
	ns.Do(func() {
		c, err = packet.Listen(&net.Interface{Index: a.Index, Name: a.Name, MTU: a.MTU, HardwareAddr: a.HardwareAddr},
			packet.Raw, unix.ETH_P_ALL, nil)
	})
	if err != nil {
		t.Fatalf("open tap: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// record returns the next IPv4 heartbeat frame from a host.
func record(t *testing.T, c *packet.Conn, from netip.Addr) []byte {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<16)
	for {
		n, _, err := c.ReadFrom(b)
		if err != nil {
			t.Fatalf("record a heartbeat of %s: %v", from, err)
		}
		f := b[:n]
		const eth, ip, udp = 14, 20, 8
		if n > eth+ip+udp && binary.BigEndian.Uint16(f[12:]) == unix.ETH_P_IP && f[eth+9] == unix.IPPROTO_UDP &&
			netip.AddrFrom4([4]byte(f[eth+12:])) == from && binary.BigEndian.Uint16(f[eth+ip+2:]) == DefaultPort {
			return f
		}
	}
}

func TestRealReplay(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "a", Key: testKey}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "b", Key: testKey}, "192.0.2.2")
	a.eventually(t, "b", func() bool { return a.hears("b") })
	c := tap(t, nsB)
	frame := record(t, c, b.addr)
	const ttl, tos = 14 + 8, 14 + 1
	if frame[ttl] != gtsm || frame[tos] != classNetworkControl {
		t.Errorf("TTL %d, TOS %#x", frame[ttl], frame[tos])
	}
	replay := func(frame []byte) {
		t.Helper()
		if _, err := c.WriteTo(frame, &packet.Addr{HardwareAddr: frame[:6]}); err != nil {
			t.Fatal(err)
		}
	}
	// On a virtual cable the checksum is left to hardware that there isn't. None
	// at all is right too.
	const checksum = 14 + 20 + 6
	frame[checksum], frame[checksum+1] = 0, 0
	for range 5 {
		replay(frame)
	}
	a.eventually(t, "five replays", func() bool { return a.dropped(Replayed) == 5 })
	// Nor do they keep a dead node alive.
	nsB.Do(func() { dropHeartbeats(t, nftables.ChainHookOutput) })
	a.eventually(t, "the loss of b", func() bool { return !a.hears("b") })
	replay(frame)
	a.eventually(t, "another replay", func() bool { return a.dropped(Replayed) == 6 })
	if a.hears("b") {
		t.Error("a replay raised b from the dead")
	}
}

// Who isn't on the segment can't send with the highest TTL.
func TestRealHopLimit(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "a"}, "192.0.2.1")
	a.eventually(t, "the socket", func() bool { return a.Links()[0].Open })
	m := message{node: "b", instance: 1, started: 1, sequence: 1, parts: 1}
	b := m.append(nil)
	var err error
	nsB.Do(func() {
		var c net.Conn
		if c, err = net.Dial("udp4", fmt.Sprintf("192.0.2.1:%d", DefaultPort)); err == nil { // with TTL 64
			_, err = c.Write(b)
			c.Close()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	a.eventually(t, "the drop", func() bool { return a.dropped(HopLimit) == 1 })
	if a.hears("b") {
		t.Error("it was taken for a member")
	}
}

func TestRealUnicast(t *testing.T) {
	nsA, nsB := pair(t)
	peers := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")}
	c := tap(t, nsB)
	a := start(t, nsA, Config{Node: "a", Key: testKey, Peers: peers}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "b", Key: testKey, Peers: peers}, "192.0.2.2")
	a.eventually(t, "both hear each other", func() bool { return a.hears("b") && b.hears("a") })
	frame := record(t, c, b.addr)
	if to := netip.AddrFrom4([4]byte(frame[14+16:])); to != a.addr {
		t.Errorf("a heartbeat went to %s, want %s", to, a.addr)
	}
}

func TestRealInterfaceReplaced(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "a", Key: testKey}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "b", Key: testKey}, "192.0.2.2")
	a.eventually(t, "b", func() bool { return a.hears("b") && b.hears("a") })

	nsA.Delete(t, "eth0")
	a.eventually(t, "the closing, with the reason", func() bool {
		st := a.Links()[0]
		return !st.Open && st.Err == "open heartbeat socket on eth0: bind to interface: no such device"
	})
	a.eventually(t, "the loss of b", func() bool { return !a.hears("b") })
	linktest.Cable(t, nsA, "eth0", nsB, "eth0")
	nsA.AddAddr(t, "eth0", "192.0.2.1/24")
	nsB.AddAddr(t, "eth0", "192.0.2.2/24")
	a.setLink(t)
	b.setLink(t)
	a.eventually(t, "both again", func() bool { return a.hears("b") && b.hears("a") })
}

// A firewall on a that drops what comes in: a is deaf, and b knows.
func TestRealOneWayBlock(t *testing.T) {
	nsA, nsB := pair(t)
	a := start(t, nsA, Config{Node: "a", Key: testKey}, "192.0.2.1")
	b := start(t, nsB, Config{Node: "b", Key: testKey}, "192.0.2.2")
	a.eventually(t, "both", func() bool { return a.about("b").Peer.HearsUs && b.about("a").Peer.HearsUs })
	nsA.Do(func() { dropHeartbeats(t, nftables.ChainHookInput) })
	a.eventually(t, "a deaf, and b aware of it", func() bool {
		return !a.hears("b") && b.hears("a") && !b.about("a").Peer.HearsUs
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.losses["a"] != 0 {
		t.Error("b lost a although it hears it")
	}
}

// dropHeartbeats makes a firewall in the calling thread's namespace.
func dropHeartbeats(t *testing.T, hook *nftables.ChainHook) {
	c, err := nftables.New()
	if err != nil {
		t.Errorf("open nftables: %v", err)
		return
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "block"})
	chain := c.AddChain(&nftables.Chain{
		Name: "block", Table: table, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityFilter,
	})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_UDP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(DefaultPort)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	if err := c.Flush(); err != nil {
		t.Errorf("block heartbeats: %v", err)
	}
}

// What the session relies on: poll never waits, and a socket may be closed under
// whoever uses it.
func TestRealSocket(t *testing.T) {
	nsA, nsB := pair(t)
	open := func(ns *linktest.NS, addr string) conn {
		a := ns.Link(t, "eth0").Attrs()
		c, err := inside{ns}.open(Link{Name: "eth0", Index: a.Index, Addr: netip.MustParseAddr(addr)}, DefaultPort, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		return c
	}
	a, b := open(nsA, "192.0.2.1"), open(nsB, "192.0.2.2")
	if err := b.send([]byte("word")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, at, err := a.poll(buf)
	if err != nil || string(buf[:n]) != "word" || at.hops != gtsm || at.from != netip.MustParseAddr("192.0.2.2") {
		t.Errorf("poll: %q, %+v, %v", buf[:n], at, err)
	}
	if _, _, err := a.poll(buf); err != errEmpty {
		t.Errorf("poll of an empty socket: %v", err)
	}
	a.close()
	a.close()
	if _, _, err := a.poll(buf); err != os.ErrClosed {
		t.Errorf("poll of a closed socket: %v", err)
	}
	if err := a.send([]byte("word")); err != os.ErrClosed {
		t.Errorf("send on a closed socket: %v", err)
	}
}
