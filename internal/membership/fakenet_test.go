package membership

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// fakeNet is a segment in memory, for use in a synctest bubble.
type fakeNet struct {
	mu      sync.Mutex
	conns   map[netip.Addr]*fakeConn
	cut     map[[2]netip.Addr]bool // from, to
	refuse  error                  // what open fails with
	opens   int
	sent    map[netip.Addr]int
	hops    int
	recent  map[netip.Addr][]byte // the last datagram of each sender
	sendErr error
}

func newFakeNet() *fakeNet {
	return &fakeNet{
		conns: make(map[netip.Addr]*fakeConn), cut: make(map[[2]netip.Addr]bool),
		sent: make(map[netip.Addr]int), recent: make(map[netip.Addr][]byte), hops: gtsm,
	}
}

func (n *fakeNet) open(l Link, _ uint16, _ []netip.Addr) (conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens++
	if n.refuse != nil {
		return nil, n.refuse
	}
	c := &fakeConn{net: n, addr: l.Addr, closed: make(chan struct{})}
	n.conns[l.Addr] = c
	return c, nil
}

// inject gives everybody a datagram.
func (n *fakeNet) inject(from netip.Addr, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for to, c := range n.conns {
		if to != from && !n.cut[[2]netip.Addr{from, to}] {
			c.queue = append(c.queue, fakeDatagram{append([]byte(nil), b...), arrival{from: from, hops: n.hops}, time.Now()})
		}
	}
}

// sentBy returns how many datagrams a node has sent, and the last of them.
func (n *fakeNet) sentBy(a netip.Addr) (int, []byte) {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[a], n.recent[a]
}

// opened returns how many sockets were asked for.
func (n *fakeNet) opened() int {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opens
}

// set changes the network under its lock.
func (n *fakeNet) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// fakeConn behaves as a socket under the Go runtime does: after the deadline
// receive fails even if something is queued.
type fakeConn struct {
	net    *fakeNet
	addr   netip.Addr
	closed chan struct{}
	once   sync.Once
	queue  []fakeDatagram
	held   chan struct{} // while not nil and open, poll doesn't return
}

type fakeDatagram struct {
	b    []byte
	at   arrival
	came time.Time
}

func (c *fakeConn) send(b []byte) error {
	c.net.mu.Lock()
	err := c.net.sendErr
	c.net.sent[c.addr]++
	c.net.recent[c.addr] = append([]byte(nil), b...)
	c.net.mu.Unlock()
	if err == nil {
		c.net.inject(c.addr, b)
	}
	return err
}

func (c *fakeConn) poll(b []byte) (int, arrival, error) {
	c.net.mu.Lock()
	held := c.held
	c.net.mu.Unlock()
	if held != nil {
		<-held
	}
	select {
	case <-c.closed:
		return 0, arrival{}, os.ErrClosed
	default:
	}
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if len(c.queue) == 0 {
		return 0, arrival{}, errEmpty
	}
	d := c.queue[0]
	c.queue = c.queue[1:]
	d.at.age = time.Since(d.came)
	return copy(b, d.b), d.at, nil
}

func (c *fakeConn) close() { c.once.Do(func() { close(c.closed) }) }

// hold keeps the reader of a node's socket from running, as a late scheduler
// does. The result lets it go on.
func (n *fakeNet) hold(a netip.Addr) (release func()) {
	held := make(chan struct{})
	var c *fakeConn
	n.set(func() {
		c = n.conns[a]
		c.held = held
	})
	return func() {
		n.set(func() { c.held = nil })
		close(held)
	}
}

// agent is a Heartbeat and a loop that uses it as the agent does.
type agent struct {
	*Heartbeat
	addr netip.Addr
	link Link
	set  *metrics.Set
	busy chan chan struct{} // a channel sent here keeps the loop busy until closed
	stop func()

	mu     sync.Mutex
	events []timedEvent
	log    strings.Builder
}

type timedEvent struct {
	Event
	at time.Time
}

// join starts a node at 192.0.2.host.
func join(t *testing.T, n *fakeNet, cfg Config, host byte) *agent {
	t.Helper()
	a := &agent{
		addr: netip.AddrFrom4([4]byte{192, 0, 2, host}), set: metrics.NewSet(), busy: make(chan chan struct{}),
	}
	h, err := New(cfg, slog.New(slog.NewTextHandler(a, nil)), a.set)
	if err != nil {
		t.Fatal(err)
	}
	h.net = n
	a.Heartbeat = h
	a.link = Link{Name: "eth0", Index: 2, MAC: lb.MAC{2, 0, 0, 0, 0, host}, Addr: a.addr, MTU: 1500}
	if err := h.Set([]Link{a.link}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	running.Go(func() { a.loop(ctx) })
	a.stop = func() {
		cancel()
		running.Wait()
		n.set(func() { delete(n.conns, a.addr) })
	}
	h.Publish("eth0", election.Beat{}, false)
	return a
}

// loop confirms every 100 ms and takes down the events.
func (a *agent) loop(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.Confirm()
		case until := <-a.busy:
			<-until
		case ev := <-a.Events():
			a.mu.Lock()
			a.events = append(a.events, timedEvent{ev, time.Now()})
			a.mu.Unlock()
		}
	}
}

// occupy keeps the loop busy for d.
func (a *agent) occupy(d time.Duration) {
	until := make(chan struct{})
	a.busy <- until
	time.Sleep(d)
	close(until)
	synctest.Wait()
}

// take returns the events since the last call.
func (a *agent) take() []timedEvent {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	evs := a.events
	a.events = nil
	return evs
}

// story is the events in short: runs of the same are one.
func story(evs []timedEvent) string {
	var out []string
	for _, ev := range evs {
		s := "+" + ev.Peer.Node
		if ev.Lost {
			s = "-" + ev.Peer.Node
		}
		if len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// Write takes a log line.
func (a *agent) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(b)
}

// lines returns the log lines that have s.
func (a *agent) lines(s string) (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range strings.Lines(a.log.String()) {
		if strings.Contains(l, s) {
			out = append(out, l)
		}
	}
	return out
}

func (a *agent) dropped(d Drop) uint64 { return a.set.Map()["heartbeat_dropped_"+d.String()] }

// peers is who is heard, "!" for those that don't hear us.
func (a *agent) peers() string {
	var out []string
	for _, p := range a.Links()[0].Peers {
		s := p.Node
		if !p.HearsUs {
			s += "!"
		}
		out = append(out, s)
	}
	return fmt.Sprint(out)
}
