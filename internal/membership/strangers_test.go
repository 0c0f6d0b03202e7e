package membership

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

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
