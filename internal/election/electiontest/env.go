package electiontest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// The timing of the simulated membership, as by default.
const (
	BeatInterval = 50 * time.Millisecond
	DeadTime     = 150 * time.Millisecond
	baseDelay    = 200 * time.Microsecond
)

// wallClock is what the nodes' clocks show at time zero, in seconds.
const wallClock = 1000

// Env is a world of nodes. It is deterministic: the same commands do the same.
type Env struct {
	now    time.Duration
	rng    *rand.Rand
	events events
	seq    uint64

	rebalance time.Duration
	split     int // claims per message, 0 for all
	bug       string

	nodes []*node
	vips  []netip.Addr
	links map[[2]int]*link

	log     strings.Builder
	verbose bool // log transitions
	checker *checker
}

// node is one machine of the world.
type node struct {
	index int
	name  string
	m     *election.Machine // nil while crashed
	life  int

	paused bool
	inbox  []message // while paused: what waits in the socket

	resumed time.Duration

	clock   time.Duration // error of the wall clock
	self    lb.Refusal
	refused map[netip.Addr]map[string]lb.Refusal
	lacks   map[netip.Addr]bool // VIPs that its snapshot doesn't have

	heard  []time.Duration // by node; -1: not alive
	wakeAt time.Duration

	version uint64
	views   map[netip.Addr]election.Ownership
	memory  memory
}

func (n *node) running() bool { return n.m != nil && !n.paused }

// message is one heartbeat, or a part of it, on its way.
type message struct {
	from, to int
	life     int // of the sender
	hearsMe  bool
	beat     election.Beat
}

// New returns an empty world.
func New() *Env {
	e := &Env{
		rng:       rand.New(rand.NewPCG(1, 0)),
		rebalance: 30 * time.Second,
		links:     make(map[[2]int]*link),
		verbose:   true,
	}
	e.checker = newChecker(e)
	return e
}

type kind uint8

const (
	beatDue kind = iota
	wake
	arrival
)

// event is something that happens to a node.
type event struct {
	at   time.Duration
	seq  uint64
	kind kind
	node *node
	life int
	msg  message
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// schedule adds an event.
func (e *Env) schedule(ev event) {
	e.seq++
	ev.seq, ev.life = e.seq, ev.node.life
	heap.Push(&e.events, ev)
}

// advance lets time pass.
func (e *Env) advance(d time.Duration) {
	end := e.now + d
	for len(e.events) > 0 && e.events[0].at <= end {
		ev := heap.Pop(&e.events).(event)
		e.now = ev.at
		if ev.life == ev.node.life {
			e.handle(ev)
		}
	}
	e.now = end
	e.checker.step()
}

// handle lets one event happen.
func (e *Env) handle(ev event) {
	n := ev.node
	switch ev.kind {
	case beatDue:
		e.schedule(event{at: e.now + BeatInterval, kind: beatDue, node: n})
		if n.running() {
			e.send(n)
		}
		return
	case wake:
		if ev.at != n.wakeAt {
			return // an earlier one took its place
		}
		n.wakeAt = -1
		if n.running() {
			e.judge(n)
			n.m.Tick(e.now)
		}
	case arrival:
		if n.paused {
			n.inbox = append(n.inbox, ev.msg)
			return
		}
		e.deliver(n, ev.msg)
	}
	if n.running() {
		e.settle(n)
	}
}

// deliver gives a message to a running node.
func (e *Env) deliver(n *node, msg message) {
	n.heard[msg.from] = e.now
	beat := e.sabotage(n, msg.beat)
	e.checker.heard(n, msg, beat)
	n.m.Heard(e.now, e.nodes[msg.from].name, msg.hearsMe, beat)
}

// judge declares the peers dead that were silent for the dead time.
func (e *Env) judge(n *node) {
	for i, at := range n.heard {
		if at < 0 || e.now-at < DeadTime {
			continue
		}
		n.heard[i] = -1
		if e.bug != "no-loss" {
			n.m.Lost(e.now, e.nodes[i].name)
		}
	}
}

// settle carries out what the machine of n asks for and plans its next wake-up.
func (e *Env) settle(n *node) {
	for {
		fx := n.m.Take()
		for _, t := range fx.Transitions {
			e.logTransition(n, t)
		}
		e.checker.effects(n, fx)
		if !fx.SendNow {
			break
		}
		e.send(n)
	}
	at, ok := n.m.Deadline()
	if !ok {
		at = e.now + DeadTime/3
	}
	for _, heard := range n.heard {
		if heard >= 0 {
			at = min(at, heard+DeadTime)
		}
	}
	at = max(at, e.now+time.Microsecond)
	if n.wakeAt < 0 || at < n.wakeAt {
		n.wakeAt = at
		e.schedule(event{at: at, kind: wake, node: n})
	}
	e.checker.step()
}

// refresh brings the cached view of n up to date.
func (n *node) refresh() bool {
	if n.m == nil || n.version == n.m.Version() {
		return false
	}
	n.version = n.m.Version()
	n.views = make(map[netip.Addr]election.Ownership)
	for _, o := range n.m.View() {
		n.views[o.Addr] = o
	}
	return true
}

// answers reports whether n answers for a.
func (n *node) answers(a netip.Addr) bool {
	if !n.running() || n.self == lb.InterfaceDown {
		return false
	}
	n.refresh()
	o, ok := n.views[a]
	return ok && o.State.Answers()
}

// reseed sets the dice.
func (e *Env) reseed(seed uint64) { e.rng = rand.New(rand.NewPCG(seed, 0)) }

// start gives n a new machine.
func (e *Env) start(n *node) {
	n.life++
	n.resumed, n.paused, n.inbox, n.wakeAt, n.version = e.now, false, nil, -1, 0
	n.heard = make([]time.Duration, len(e.nodes))
	for i := range n.heard {
		n.heard[i] = -1
	}
	boot := max(1, int64((wallClock*time.Second+e.now+n.clock)/time.Second))
	n.m = election.New(election.Config{
		Self: n.name, DeadTime: DeadTime, RebalanceAfter: e.rebalance, BootEpoch: uint64(boot),
	}, e.now)
	n.m.SetVIPs(e.now, e.snapshot(n))
	n.m.SetSelf(e.now, n.self)
	e.checker.started(n)
	phase := time.Duration(e.rng.Int64N(int64(BeatInterval)))
	e.schedule(event{at: e.now + phase, kind: beatDue, node: n})
	e.settle(n)
}

// snapshot returns the VIPs as n's source has them.
func (e *Env) snapshot(n *node) []election.VIP {
	var vips []election.VIP
	for _, a := range e.vips {
		if !n.lacks[a] {
			vips = append(vips, election.VIP{Addr: a, Refused: n.refused[a]})
		}
	}
	return vips
}

// logTransition writes one line about a change.
func (e *Env) logTransition(n *node, t election.Transition) {
	if !e.verbose {
		return
	}
	name := func(s string) string {
		if s == "" {
			return "nobody"
		}
		return s
	}
	fmt.Fprintf(&e.log, "%s %s: %s %s, %s -> %s, epoch %d\n", stamp(e.now), n.name, t.Addr, t.Change, name(t.From), name(t.To), t.Epoch)
}

// stamp writes a time in milliseconds.
func stamp(t time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(t)/float64(time.Millisecond))
}
