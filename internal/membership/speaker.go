package membership

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// speaker sends a session's heartbeats, at a steady pace and in between when
// asked. It waits for nothing, not for the consumer either. In the steady state
// it allocates nothing.
type speaker struct {
	s      *session
	signer *signer       // nil: unauthenticated
	wake   chan struct{} // speak is wanted now
	hurry  atomic.Bool   // a heartbeat at once was asked for

	steady, last time.Time // when the next steady heartbeat is due; when one was sent

	mu    sync.Mutex
	said  bool // there was a Publish
	beat  election.Beat
	heard []uint32
	parts []part // of heard and beat, or empty when that has to be done
	buf   []byte
	mute  bool  // because the agent hangs
	err   error // of the last heartbeat
}

func newSpeaker(s *session) *speaker {
	p := &speaker{s: s, wake: make(chan struct{}, 1)}
	if s.h.cfg.Key != nil {
		p.signer = newSigner(s.h.cfg.Key)
	}
	return p
}

// publish is Publish.
func (p *speaker) publish(b election.Beat, now bool) {
	p.mu.Lock()
	p.said = true
	canonical(&p.beat, b)
	p.parts = p.parts[:0]
	p.mu.Unlock()
	if now {
		p.hurry.Store(true)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// hears sets who is heard.
func (p *speaker) hears(instances []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = instances
	p.parts = p.parts[:0]
}

// reshape lets the next heartbeat be split anew: the link is another.
func (p *speaker) reshape() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts = p.parts[:0]
}

// trouble is why nothing can be sent, or "".
func (p *speaker) trouble() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err.Error()
	}
	return ""
}

// speak sends what is due and returns when to be called again. It is called
// from one goroutine.
func (p *speaker) speak(now time.Time) time.Time {
	interval := p.s.h.cfg.Interval
	due := p.steady
	if p.hurry.Load() {
		// What is asked for in quick succession becomes one heartbeat.
		due = earlier(due, p.last.Add(interval/10))
	}
	if now.Before(due) {
		return due
	}
	p.hurry.Store(false)
	if p.send(now) {
		p.last = now
	}
	if !now.Before(p.steady) {
		// From the plan and not from now, so that delays don't add up.
		if p.steady = p.steady.Add(jitter(interval)); !p.steady.After(now) {
			p.steady = now.Add(jitter(interval))
		}
	}
	return p.steady
}

// jitter returns a duration within 5 % of d, so that nodes don't fall into
// step.
func jitter(d time.Duration) time.Duration {
	return d - d/20 + rand.N(d/10)
}

// send sends one heartbeat, in as many datagrams as it takes, unless there is
// a reason to be silent.
func (p *speaker) send(now time.Time) bool {
	link, c := p.s.current()
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == nil || !p.said || p.hung(now) {
		return false
	}
	if len(p.parts) == 0 {
		room := link.payload() - headerLen - len(p.s.h.self.node) - tagLen
		p.parts = split(p.parts, room, p.heard, p.beat)
	}
	var first error
	for n := range p.parts {
		if err := c.send(p.encode(link, n)); err != nil && first == nil {
			first = err
		}
	}
	p.outcome(first)
	return true
}

// hung reports whether the agent hangs, and logs when that changes.
func (p *speaker) hung(now time.Time) bool {
	idle, hung := p.s.h.hung(now)
	if hung == p.mute {
		return hung
	}
	p.mute = hung
	if hung {
		p.s.log.Error("heartbeats stop: the agent hangs", "for", idle.Round(time.Millisecond))
	} else {
		p.s.log.Info("heartbeats go on: the agent lives")
	}
	return hung
}

// encode returns the n-th datagram of the heartbeat, valid until the next.
func (p *speaker) encode(link Link, n int) []byte {
	h := p.s.h
	m := message{
		node: h.self.node, instance: h.self.instance, started: h.self.started, sequence: h.sequence.Add(1),
		part: uint16(n), parts: uint16(len(p.parts)), mac: link.MAC, heard: p.parts[n].heard,
		beat: election.Beat{Refusal: p.beat.Refusal, Claims: p.parts[n].claims, Handovers: p.parts[n].handovers},
	}
	if p.signer == nil {
		p.buf = m.append(p.buf[:0])
		return p.buf
	}
	m.authentic, m.keyID = true, p.signer.id
	p.buf = m.append(p.buf[:0])
	p.buf = p.signer.sum(p.buf, p.buf)
	return p.buf
}

// outcome notes how sending went, and logs when that changes. A socket whose
// interface is gone is given up.
func (p *speaker) outcome(err error) {
	was := p.err
	p.err = err
	switch {
	case errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO):
		p.s.hangUp()
		fallthrough
	case err != nil && (was == nil || was.Error() != err.Error()):
		p.s.log.Warn("heartbeat can't be sent", "err", err)
	case err == nil && was != nil:
		p.s.log.Info("heartbeats can be sent again")
	}
}
