package membership

import (
	"bytes"
	"errors"
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
		a.occupy(30 * time.Second)
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
func TestForeignCluster(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a1 := join(t, n, Config{Node: "n1", Key: testKey}, 1)
		a2 := join(t, n, Config{Node: "n2", Key: testKey}, 2)
		b1 := join(t, n, Config{Node: "n3", Key: []byte("another key")}, 3)
		b2 := join(t, n, Config{Node: "n4", Key: []byte("another key")}, 4)
		c := join(t, n, Config{Node: "n5"}, 5)
		for _, x := range []*agent{a1, b1, b2, c} {
			defer x.stop()
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if a1.peers() != "[n2]" || b1.peers() != "[n4]" || c.peers() != "[]" {
			t.Errorf("n1 hears %s, n3 hears %s, n5 hears %s", a1.peers(), b1.peers(), c.peers())
		}
		if a1.dropped(ForeignKey) < 2000 || a1.dropped(Unauthenticated) < 1000 || c.dropped(Unauthenticated) < 4000 {
			t.Errorf("counts: %v, %v", a1.set.Map(), c.set.Map())
		}
		if got := len(a1.lines("foreign_key")); got != 2 {
			t.Errorf("%d lines about 2 foreign peers in a minute", got)
		}
		// Failover in one cluster isn't held up by the other.
		a1.take()
		a2.stop()
		time.Sleep(time.Second)
		evs := a1.take()
		if last := evs[len(evs)-1]; !last.Lost || last.at.Sub(last.Peer.LastHeard) != a1.DeadTime() {
			t.Errorf("the loss of n2 was judged late: %+v", last)
		}
	})
}

// Without keys, two clusters whose nodes have the same names don't merge.
func TestSameNamesWithoutKeys(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a1 := join(t, n, Config{Node: "n1"}, 1)
		a2 := join(t, n, Config{Node: "n2"}, 2)
		time.Sleep(time.Second)
		b1 := join(t, n, Config{Node: "n1"}, 3)
		b2 := join(t, n, Config{Node: "n2"}, 4)
		all := []*agent{a1, a2, b1, b2}
		for _, x := range all {
			defer x.stop()
		}
		time.Sleep(time.Second)
		a1.take()
		time.Sleep(30 * time.Second)
		for _, ev := range a1.take() {
			if ev.Lost || ev.Peer.Instance != a2.self.instance {
				t.Fatalf("n1 heard %+v, want nothing but the n2 that it knew first", ev)
			}
		}
		for _, x := range all {
			if x.dropped(DuplicateNode) < 500 || len(x.lines("two running agents have the same node name")) == 0 {
				t.Errorf("%s at %s doesn't complain: %v", x.self.node, x.addr, x.set.Map())
			}
		}
	})
}

func TestRestart(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		time.Sleep(500 * time.Millisecond)
		a.take()
		b.stop()
		time.Sleep(10 * time.Millisecond)
		again := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer again.stop()
		begun := time.Now()
		time.Sleep(time.Second)
		evs := a.take()
		if got := story(evs); got != "-b +b" && got != "+b -b +b" {
			t.Errorf("a saw %s", got)
		}
		for _, ev := range evs {
			if ev.Peer.Instance == again.self.instance {
				if took := ev.at.Sub(begun); took >= a.DeadTime() {
					t.Errorf("the restart was seen after %v", took)
				}
				break
			}
		}
	})
}

func TestSocketTrouble(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		n.refuse = errors.New("no such device")
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		st := a.Links()[0]
		if st.Open || st.Err != "no such device" || len(a.lines("no such device")) != 1 {
			t.Errorf("status %+v, log %q", st, a.lines("no such device"))
		}
		if got := n.opened(); got > 2*20 {
			t.Errorf("%d attempts in 20 s", got)
		}
		n.set(func() { n.refuse = nil })
		time.Sleep(lastRetry + 200*time.Millisecond)
		synctest.Wait()
		if st := a.Links()[0]; !st.Open || st.Err != "" || a.peers() != "[b]" {
			t.Errorf("status %+v, peers %s", st, a.peers())
		}
		n.set(func() { n.sendErr = errors.New("network is unreachable") })
		time.Sleep(time.Second)
		if st := a.Links()[0]; st.Err != "network is unreachable" || len(a.lines("network is unreachable")) != 1 {
			t.Errorf("status %+v, log %q", st, a.lines("network is unreachable"))
		}
		if got := story(a.take()); got != "+b -b" {
			t.Errorf("a saw %s", got)
		}
		n.set(func() { n.sendErr = nil })
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if st := a.Links()[0]; st.Err != "" || a.peers() != "[b]" || len(a.lines("can be sent again")) != 1 {
			t.Errorf("status %+v, peers %s", st, a.peers())
		}
	})
}

func TestSetIsIdempotent(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		a.take()
		b.take()
		set := func(links ...Link) {
			t.Helper()
			if err := a.Set(links); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
		}
		opens := n.opened()
		set(a.link)
		if n.opened() != opens {
			t.Error("the same link again opened a socket")
		}
		// Another MAC is only something to tell.
		l := a.link
		l.MAC, l.MTU = lb.MAC{2, 0, 0, 0, 0xca, 0xfe}, 9000
		set(l)
		evs := b.take()
		if n.opened() != opens || evs[len(evs)-1].Peer.MAC != l.MAC {
			t.Errorf("after a change of MAC: %d sockets opened, b sees %s", n.opened()-opens, evs[len(evs)-1].Peer.MAC)
		}
		// Another index is another socket, and nobody is lost over it.
		l.Index++
		set(l)
		if n.opened() != opens+1 || story(a.take()) != "+b" || story(b.take()) != "+a" {
			t.Errorf("after a change of index: %d sockets opened", n.opened()-opens)
		}
		// Removed, its peers are lost at once; what was heard stays heard.
		replay := last(n.sentBy(b.addr))
		removed := time.Now()
		set()
		evs = a.take()
		if last := evs[len(evs)-1]; !last.Lost || last.at.Sub(removed) != 0 || len(a.Links()) != 0 {
			t.Errorf("after the removal: %s, links %v", story(evs), a.Links())
		}
		before := a.dropped(Replayed)
		set(l)
		n.inject(netip.MustParseAddr("192.0.2.66"), replay)
		time.Sleep(100 * time.Millisecond)
		a.Publish("eth0", election.Beat{}, true)
		time.Sleep(100 * time.Millisecond)
		if story(a.take()) != "+b" || a.dropped(Replayed) != before+1 {
			t.Errorf("after its return: %d replays dropped", a.dropped(Replayed)-before)
		}
	})
}

func TestSetRefuses(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		defer a.stop()
		good := a.link
		noAddr, noIndex := good, good
		noAddr.Name, noAddr.Addr = "eth1", netip.Addr{}
		noIndex.Name, noIndex.Index = "eth2", 0
		err := a.Set([]Link{good, noAddr, noIndex, good})
		const want = "heartbeat on eth1: the interface has no address to send from\n" +
			"heartbeat on \"eth2\": no such interface\nheartbeat on eth0: given twice"
		if err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		if ls := a.Links(); len(ls) != 1 || ls[0].Link != good {
			t.Errorf("links %v", ls)
		}
	})
}

func TestPace(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		defer a.stop()
		time.Sleep(time.Second)
		sent := func() int { n, _ := n.sentBy(a.addr); return n }
		before := sent()
		time.Sleep(60 * time.Second)
		if got := sent() - before; got < 1180 || got > 1220 {
			t.Errorf("%d heartbeats in a minute, want 1200", got)
		}
		// Asked for many times at once, it is sent once now and once after the gap.
		time.Sleep(7 * time.Millisecond)
		before = sent()
		begun := time.Now()
		for range 100 {
			a.Publish("eth0", election.Beat{}, true)
			synctest.Wait()
		}
		if got := sent() - before; got > 1 {
			t.Errorf("%d heartbeats at once, want 1 at most", got)
		}
		time.Sleep(5*time.Millisecond + 1)
		synctest.Wait()
		if got := sent() - before; got < 1 || got > 3 {
			t.Errorf("%d heartbeats within %v", got, time.Since(begun))
		}
	})
}

func TestNothingIsSentBeforeTheFirstPublish(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		defer a.stop()
		l := a.link
		l.Name, l.Addr = "eth1", netip.MustParseAddr("192.0.2.9")
		if err := a.Set([]Link{a.link, l}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if got, _ := n.sentBy(l.Addr); got != 0 {
			t.Errorf("%d heartbeats without anything to say", got)
		}
		a.Publish("eth1", election.Beat{}, true)
		if got, _ := n.sentBy(l.Addr); got != 1 {
			t.Errorf("%d heartbeats at once, want 1", got)
		}
	})
}

// A heartbeat that doesn't fit into a frame comes in parts, whole.
func TestManyClaims(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(300 * time.Millisecond)
		a.take()
		beat := claims(500, 3)
		b.Publish("eth0", beat, true)
		time.Sleep(10 * time.Millisecond)
		got := make(map[netip.Addr]uint64)
		evs := a.take()
		for _, ev := range evs {
			for _, c := range ev.Beat.Claims {
				got[c.Addr] = c.Epoch
			}
		}
		for _, c := range beat.Claims {
			if got[c.Addr] != c.Epoch {
				t.Errorf("%s came with epoch %d, want %d", c.Addr, got[c.Addr], c.Epoch)
			}
		}
		if len(evs) < 5 { // 13 bytes a claim, 1472 a datagram
			t.Errorf("500 claims came in %d datagrams", len(evs))
		}
	})
}

// Floods of rubbish delay nothing and fill no log.
func TestFloods(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		time.Sleep(500 * time.Millisecond)
		a.take()
		forged := bytes.Clone(last(n.sentBy(b.addr)))
		forged[len(forged)-1] ^= 1
		for range 500 {
			for from := range byte(10) {
				src := netip.AddrFrom4([4]byte{203, 0, 113, from})
				n.inject(src, []byte("rubbish"))
				n.inject(src, forged)
				n.inject(src, last(n.sentBy(b.addr)))
			}
			time.Sleep(2 * time.Millisecond)
		}
		if got := story(a.take()); got != "+b" {
			t.Errorf("a saw %s", got)
		}
		b.stop()
		stopped := time.Now()
		for range 500 {
			n.inject(netip.MustParseAddr("203.0.113.1"), forged)
			time.Sleep(time.Millisecond)
		}
		evs := a.take()
		if last := evs[len(evs)-1]; !last.Lost || last.at.Sub(stopped) > a.DeadTime()+time.Millisecond {
			t.Errorf("in the flood: %s", story(evs))
		}
		for _, d := range []Drop{Malformed, BadMAC, Replayed} {
			if a.dropped(d) < 4000 || len(a.lines(d.String())) > 10 {
				t.Errorf("%s: %d dropped, %d lines", d, a.dropped(d), len(a.lines(d.String())))
			}
		}
	})
}

func TestHopLimit(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		n.hops = 64
		a := join(t, n, Config{Node: "a", Key: testKey}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if a.peers() != "[]" || a.dropped(HopLimit) == 0 {
			t.Errorf("peers %s, counters %v", a.peers(), a.set.Map())
		}
	})
}

// A change of the key: accept the new one everywhere, then send with it.
func TestKeyRotation(t *testing.T) {
	simulate(t, func(t *testing.T, n *fakeNet) {
		next := []byte("the next key")
		a := join(t, n, Config{Node: "a", Key: next, PreviousKeys: [][]byte{testKey}}, 1)
		b := join(t, n, Config{Node: "b", Key: testKey, PreviousKeys: [][]byte{next}}, 2)
		defer a.stop()
		defer b.stop()
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		if a.peers() != "[b]" || b.peers() != "[a]" {
			t.Errorf("a hears %s, b hears %s", a.peers(), b.peers())
		}
	})
}
