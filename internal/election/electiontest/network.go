package electiontest

import (
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// link is what one direction between two nodes does to messages.
type link struct {
	cut    bool
	drop   int     // the next so many are lost
	loss   float64 // probability
	dup    float64 // probability
	delay  time.Duration
	jitter time.Duration // at random on top of delay: reorders when long

	changed time.Duration // when it last became better or worse
}

// perfect reports whether the link neither loses nor holds up anything.
func (l *link) perfect() bool { return !l.cut && l.drop == 0 && l.loss == 0 }

// latency is the longest that a message takes.
func (l *link) latency() time.Duration { return baseDelay + l.delay + l.jitter }

// link returns the direction from a to b.
func (e *Env) link(from, to int) *link {
	k := [2]int{from, to}
	l := e.links[k]
	if l == nil {
		l = &link{changed: e.now}
		e.links[k] = l
	}
	return l
}

// send has n send its heartbeat to everybody.
func (e *Env) send(n *node) {
	beat := n.m.Beat()
	e.checker.sent(n, beat)
	for _, part := range splitBeat(beat, e.split) {
		for _, to := range e.nodes {
			if to != n {
				msg := message{from: n.index, to: to.index, life: n.life, hearsMe: n.heard[to.index] >= 0, beat: part}
				e.transmit(e.link(n.index, to.index), msg)
			}
		}
	}
}

// transmit puts a message on a link.
func (e *Env) transmit(l *link, msg message) {
	if l.drop > 0 {
		l.drop--
		l.changed = e.now
		return
	}
	if l.cut || l.loss > 0 && e.rng.Float64() < l.loss {
		return
	}
	copies := 1
	if l.dup > 0 && e.rng.Float64() < l.dup {
		copies = 2
	}
	for range copies {
		delay := baseDelay + l.delay
		if l.jitter > 0 {
			delay += time.Duration(e.rng.Int64N(int64(l.jitter)))
		}
		if to := e.nodes[msg.to]; to.m != nil {
			e.schedule(event{at: e.now + delay, kind: arrival, node: to, msg: msg})
		}
	}
}

// splitBeat divides the claims over messages of at most size claims.
func splitBeat(b election.Beat, size int) []election.Beat {
	if size == 0 || len(b.Claims) <= size {
		return []election.Beat{b}
	}
	var parts []election.Beat
	for len(b.Claims) > size {
		parts = append(parts, election.Beat{Claims: b.Claims[:size], Refusal: b.Refusal})
		b.Claims = b.Claims[size:]
	}
	return append(parts, b)
}

// sabotage is how a test proves that the checks can fail: it breaks a rule of
// the protocol for all nodes by what it lets them hear.
func (e *Env) sabotage(n *node, b election.Beat) election.Beat {
	switch e.bug {
	case "no-yield":
		// Nobody hears a rival.
		kept := make([]election.Claim, 0, len(b.Claims))
		for _, c := range b.Claims {
			if !n.answers(c.Addr) {
				kept = append(kept, c)
			}
		}
		b.Claims = kept
	case "no-epochs":
		// All claims look alike, and so do later ones.
		kept := make([]election.Claim, 0, len(b.Claims))
		for _, c := range b.Claims {
			kept = append(kept, election.Claim{Addr: c.Addr, Epoch: 1 + c.Epoch%2})
		}
		b.Claims = kept
	case "no-handover":
		b.Handovers = nil
	}
	return b
}
