package membership

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

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
		time.Sleep(2 * DefaultInterval) // it is heard
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
		time.Sleep(30 * time.Millisecond)
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
		if len(evs) < 2 { // 4 bytes a claim, 1472 a datagram
			t.Errorf("500 claims came in %d datagrams", len(evs))
		}
	})
}
