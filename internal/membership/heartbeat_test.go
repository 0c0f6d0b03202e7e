package membership

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

var testKey = []byte("a key for tests")

// simulate runs f with a network in a bubble, where time.Sleep takes no time.
func simulate(t *testing.T, f func(t *testing.T, n *fakeNet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newFakeNet()) })
}

func claims(n int, epoch uint64) election.Beat {
	var b election.Beat
	for i := range n {
		b.Claims = append(b.Claims, election.Claim{Addr: netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), Epoch: epoch})
	}
	return b
}

func TestHearAndLose(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		time.Sleep(120 * time.Millisecond)
		b.Publish("eth0", election.Beat{Refusal: lb.Draining, Claims: claims(1, 7).Claims}, false)
		time.Sleep(60 * time.Millisecond)
		evs := a.take()
		last := evs[len(evs)-1]
		if story(evs) != "+b" || last.Beat.Refusal != lb.Draining || last.Beat.Claims[0].Epoch != 7 {
			t.Errorf("a heard %s, last %+v", story(evs), last)
		}
		if p := last.Peer; p.MAC != b.link.MAC || p.Addr != b.addr || p.Interface != "eth0" || !p.HearsUs || p.Instance != b.self.instance {
			t.Errorf("the peer is %+v", p)
		}
		b.stop()
		time.Sleep(time.Second)
		evs = a.take()
		lost := evs[len(evs)-1]
		if !lost.Lost || lost.at.Sub(lost.Peer.LastHeard) != a.DeadTime() {
			t.Errorf("after b's stop: %s, judged after %v of silence, want %v", story(evs), lost.at.Sub(lost.Peer.LastHeard), a.DeadTime())
		}
		if got := a.peers(); got != "[]" {
			t.Errorf("peers are %s", got)
		}
	})
}

// Heartbeats that wait in the socket while this process isn't run are heard
// before anybody is judged by its silence.
func TestLateSchedulerLosesNobody(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		c := join(t, n, Config{Node: "c", Key: testKey}, 3)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		a.take()
		release := n.hold(a.addr)
		time.Sleep(800 * time.Millisecond)
		c.stop() // its last words are queued too
		release()
		resumed := time.Now()
		time.Sleep(time.Second)
		for _, ev := range a.take() {
			switch {
			case ev.Lost && ev.Peer.Node != "c":
				t.Errorf("%s was lost", ev.Peer.Node)
			case ev.Lost && ev.at.Sub(resumed) != a.DeadTime():
				t.Errorf("c was judged %v after the pause, want %v", ev.at.Sub(resumed), a.DeadTime())
			}
		}
		if got := a.peers(); got != "[b]" {
			t.Errorf("peers are %s, want [b]", got)
		}
	})
}

// A busy consumer delays neither what is sent nor the judging, and finds the
// latest words.
func TestBusyConsumer(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		c := join(t, n, Config{Node: "c", Key: testKey}, 3)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		b.take()
		go func() {
			for epoch := range 18 {
				c.Publish("eth0", claims(200, uint64(epoch)), true)
				time.Sleep(50 * time.Millisecond)
			}
			c.stop()
		}()
		a.occupy(950 * time.Millisecond)
		if got := story(b.take()); strings.Contains(got, "-") {
			t.Errorf("b saw %s while a was busy", got)
		}
		time.Sleep(time.Second)
		evs := a.take()
		var last election.Beat
		lost := 0
		for _, ev := range evs {
			if ev.Peer.Node == "c" && ev.Lost {
				lost++
			} else if ev.Peer.Node == "c" {
				last = ev.Beat
			}
		}
		if lost != 1 || len(last.Claims) == 0 || last.Claims[0].Epoch != 17 {
			t.Errorf("c: lost %d times, last word %v, want epoch 17", lost, last)
		}
	})
}

// last is the second of two results.
func last(_ int, b []byte) []byte { return b }

// A consumer that sleeps for long finds a bounded number of events, and what
// was replaced is counted.
func TestSleepingConsumerIsCounted(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		a.take()
		go func() {
			for epoch := range 1200 {
				b.Publish("eth0", claims(1, uint64(epoch)), false)
				time.Sleep(DefaultInterval)
			}
		}()
		a.occupy(60 * time.Second)
		time.Sleep(10 * time.Millisecond)
		if evs := a.take(); len(evs) > eventBuffer+3 || a.dropped(QueueFull) < 500 {
			t.Errorf("%d events, %d counted as replaced", len(evs), a.dropped(QueueFull))
		}
		if got := len(a.lines("queue_full")); got != 1 {
			t.Errorf("%d log lines, want 1", got)
		}
	})
}

func TestHungAgentFallsSilent(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		b.take()
		hung := time.Now()
		a.occupy(10 * time.Second)
		time.Sleep(100 * time.Millisecond)
		evs := b.take()
		if got := story(evs); got != "+a -a +a" {
			t.Fatalf("b saw %s", got)
		}
		for _, ev := range evs {
			if silent := ev.at.Sub(hung); ev.Lost && (silent < time.Second || silent > 1300*time.Millisecond) {
				t.Errorf("the hung agent was lost after %v", silent)
			}
		}
		if stop, on := a.lines("heartbeats stop"), a.lines("heartbeats go on"); len(stop) != 1 || len(on) != 1 {
			t.Errorf("log: %q %q", stop, on)
		}
	})
}

// Whom a one-way fault keeps from hearing is known to those that it hears.
func TestOneWayFault(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(300 * time.Millisecond)
		if a.peers() != "[b]" || b.peers() != "[a]" {
			t.Fatalf("at first a hears %s, b hears %s", a.peers(), b.peers())
		}
		n.set(func() { n.cut[[2]netip.Addr{b.addr, a.addr}] = true })
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		if a.peers() != "[]" || b.peers() != "[a!]" {
			t.Errorf("with a deaf, a hears %s, b hears %s; want [] and [a!]", a.peers(), b.peers())
		}
		n.set(func() { clear(n.cut) })
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if a.peers() != "[b]" || b.peers() != "[a]" {
			t.Errorf("healed, a hears %s, b hears %s", a.peers(), b.peers())
		}
	})
}

// Two clusters on one segment.
// Without keys, two clusters whose nodes have the same names don't merge.
// A heartbeat that doesn't fit into a frame comes in parts, whole.
// Floods of rubbish delay nothing and fill no log.
// A change of the key: accept the new one everywhere, then send with it.
