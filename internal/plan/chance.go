package plan

import (
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// slot is where the flows of a packet's slot can be: at the node that the table
// says, and at those that it said before.
type slot struct {
	current *Endpoint // nil if there is none
	nodes   []NodeID  // distinct and reachable: of current, then of the history, newest first
	// recent is true if something has changed since the last packet of a flow
	// that is still known and that the present one can belong to.
	recent bool
}

// slot looks the packet's slot up.
func (w *walk) slot() slot {
	l := slot{current: w.current()}
	add := func(e *Endpoint) {
		if e == nil || slices.Contains(l.nodes, e.Node) {
			return
		}
		if n := w.s.node(e.Node); n != nil && n.Mode != ModeNone {
			l.nodes = append(l.nodes, e.Node)
		}
	}
	add(l.current)
	if rows := w.svc.History.Rows; len(rows) > 0 {
		r := rows[maglev.SlotOf(w.hash(), len(rows))]
		for _, i := range r.Prev {
			add(w.svc.index(i))
		}
		window := EmbryonicIdle // for a repeated SYN
		if w.tuple.Proto == uint8(lb.UDP) {
			window = UDPIdle
		}
		l.recent = r.Prev[0] != 0 && within(r.Stamp, w.now, window)
	}
	return l
}

// next is the node to ask now that this one doesn't know the flow, or 0.
//
// A packet that hasn't been passed on yet begins at the front of the list. Then
// each node goes on behind its own place: nodes whose lists are the same visit
// the whole list, each node once. Whatever the lists say, the hop ends it.
func (w *walk) next(l slot) NodeID {
	if w.hop == MaxHops || !w.vip.Marks[0].IsValid() {
		return 0
	}
	nodes := l.nodes
	if w.hop > 0 {
		// Without a place of its own a node takes that of whom it has it from.
		i := slices.Index(nodes, w.s.Self)
		if i < 0 {
			i = slices.Index(nodes, w.from)
		}
		nodes = nodes[i+1:]
	}
	for _, n := range nodes {
		if n != w.s.Self && (w.hop == 0 || n != w.from) {
			return n
		}
	}
	return 0
}

// search passes a packet from the middle of an unknown flow on to where it may
// be known. If it is nowhere, the endpoint that the table says gets it: its
// host knows best, and its RST tells the client.
func (w *walk) search() Verdict {
	l := w.slot()
	if n := w.next(l); n != 0 {
		return w.forward(n, w.hop+1, SecondChance)
	}
	switch e := l.current; {
	case w.p.ICMP.Kind == ICMPError:
		return w.end(ICMPUnknownFlow)
	case w.p.TCP&RST != 0:
		return w.end(RSTUnknownFlow)
	case e != nil && e.Node == w.s.Self:
		return w.start(e, DeliveredRebuilt)
	case e != nil && w.mayReturn():
		return w.forward(e.Node, MaxHops, Returned)
	}
	return w.refuse(FlowUnknown)
}

// open finds the place of a packet that may be the first of its flow, or not: a
// SYN may be a repeated one that has been answered already, and UDP has no first
// packets. So shortly after a change of the slot the nodes that had it are asked
// before, and later on for those flows that one of them has kept. Two nodes at
// most, since the last hop is for the way back.
func (w *walk) open(lent bool) Verdict {
	l := w.slot()
	e := l.current
	here := e != nil && e.Node == w.s.Self
	if e != nil && !here && w.hop == 0 {
		if !w.mayReturn() {
			return w.end(TablesDisagree)
		}
		return w.forward(e.Node, 1, NewFlowPassed)
	}
	if w.hop < MaxHops-1 && (w.hop > 0 || lent || l.recent) {
		if n := w.next(l); n != 0 && (e == nil || n != e.Node) {
			if w.hop == 0 && w.tuple.Proto == uint8(lb.UDP) {
				w.writes.Put = &Flow{Tuple: w.tuple, State: Lent, Seen: w.now}
			}
			return w.forward(n, w.hop+1, NewFlowOffered)
		}
	}
	switch {
	case here:
		return w.start(e, DeliveredNew)
	case e == nil:
		return w.refuse(NoEndpointReady)
	case w.mayReturn():
		return w.forward(e.Node, MaxHops, Returned)
	}
	return w.end(TablesDisagree)
}

// mayReturn reports whether the packet may go to the node that the table says,
// as its last hop.
func (w *walk) mayReturn() bool { return w.hop < MaxHops && w.vip.Marks[0].IsValid() }
