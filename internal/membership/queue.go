package membership

import (
	"context"
	"slices"
	"sync"
)

// eventBuffer is how many events wait for the consumer before newer ones
// replace older ones of the same peer.
const eventBuffer = 512

// queue carries events from the links to the consumer. Writers never wait: when
// the consumer is slow, the latest word of each peer is kept and those before
// it are let go of, so that it stays as short as the list of peers.
type queue struct {
	out  chan Event
	wake chan struct{}

	mu      sync.Mutex
	backlog []queued // what out has no room for, oldest first
	moving  bool     // run holds an event taken from backlog
}

// queued is an event and the part of a heartbeat that it came with.
type queued struct {
	Event
	part uint16
}

func newQueue() *queue {
	return &queue{out: make(chan Event, eventBuffer), wake: make(chan struct{}, 1)}
}

// push adds an event and returns how many it replaced.
func (q *queue) push(ev Event, part uint16) (replaced int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.backlog) == 0 && !q.moving {
		select {
		case q.out <- ev:
			return 0
		default:
		}
	}
	before := len(q.backlog)
	q.backlog = slices.DeleteFunc(q.backlog, func(o queued) bool {
		// A loss replaces all that was heard. What is heard replaces no loss: the
		// peer may have come back as another instance.
		return o.Peer.Node == ev.Peer.Node && o.Peer.Interface == ev.Peer.Interface &&
			(ev.Lost || !o.Lost && o.part == part)
	})
	replaced = before - len(q.backlog)
	q.backlog = append(q.backlog, queued{ev, part})
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return replaced
}

// run moves the backlog to the consumer until ctx is done.
func (q *queue) run(ctx context.Context) {
	for {
		ev, ok := q.take()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-q.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case q.out <- ev:
		}
	}
}

// take removes the oldest event of the backlog.
func (q *queue) take() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moving = len(q.backlog) > 0
	if !q.moving {
		return Event{}, false
	}
	ev := q.backlog[0].Event
	q.backlog = slices.Delete(q.backlog, 0, 1)
	return ev, true
}
