package membership

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/election"
)

func heardEvent(node string, epoch int) Event {
	return Event{
		Peer: Peer{Node: node, Interface: "eth0", Instance: uint64(epoch)},
		Beat: election.Beat{Claims: []election.Claim{{Epoch: uint64(epoch)}}},
	}
}

func lostEvent(node string) Event {
	return Event{Peer: Peer{Node: node, Interface: "eth0"}, Lost: true}
}

// A consumer that sleeps finds the first eventBuffer events, and then the
// latest word of everybody, in order.
func TestSlowConsumerGetsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		ctx, cancel := context.WithCancel(t.Context())
		go q.run(ctx)
		replaced := 0
		for n := range eventBuffer + 1000 {
			replaced += q.push(heardEvent("n1", n), 0)
			replaced += q.push(heardEvent("n1", n), 1)
			replaced += q.push(heardEvent("n2", n), 0)
			synctest.Wait()
		}
		replaced += q.push(lostEvent("n2"), 0)
		replaced += q.push(heardEvent("n2", 7777), 0)
		synctest.Wait()
		var got []string
		for len(q.out) > 0 {
			ev := <-q.out
			got = append(got, fmt.Sprintf("%s %v %d", ev.Peer.Node, ev.Lost, ev.Peer.Instance))
			synctest.Wait()
		}
		if want := 3*(eventBuffer+1000) + 2 - replaced; len(got) != want {
			t.Errorf("%d events came, want %d", len(got), want)
		}
		last := got[len(got)-4:]
		latest := fmt.Sprintf("n1 false %d", eventBuffer+999)
		want := fmt.Sprint([]string{latest, latest, "n2 true 0", "n2 false 7777"})
		if fmt.Sprint(last) != want {
			t.Errorf("the last are %v, want %v", last, want)
		}
		if len(got) > eventBuffer+6 {
			t.Errorf("%d events were kept for 2 peers", len(got))
		}
		cancel()
	})
}

// Against the dumb twin, which forgets nothing: whatever the consumer's pace,
// the last event of each peer comes, and per peer none comes twice or late.
func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			ctx, cancel := context.WithCancel(t.Context())
			go q.run(ctx)
			latest, seen := make(map[string]uint64), make(map[string]uint64)
			take := func() bool {
				synctest.Wait()
				select {
				case ev := <-q.out:
					if ev.Peer.Instance <= seen[ev.Peer.Node] {
						rt.Fatalf("%s: event %d after %d", ev.Peer.Node, ev.Peer.Instance, seen[ev.Peer.Node])
					}
					seen[ev.Peer.Node] = ev.Peer.Instance
					return true
				default:
					return false
				}
			}
			for n := range rapid.IntRange(1, 400).Draw(rt, "events") {
				node := rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(rt, "node")
				ev := heardEvent(node, n+1)
				ev.Lost = rapid.IntRange(0, 9).Draw(rt, "lost") == 0
				q.push(ev, 0)
				latest[node] = ev.Peer.Instance
				for range rapid.IntRange(0, 1).Draw(rt, "takes") {
					take()
				}
			}
			for take() {
			}
			for node, want := range latest {
				if seen[node] != want {
					rt.Fatalf("%s: the last event seen is %d, want %d", node, seen[node], want)
				}
			}
			cancel()
		})
	})
}
