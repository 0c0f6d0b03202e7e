package membership

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"sync"
	"time"
)

// Waits between two attempts to open a socket, doubled from the first to the
// last.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// maxDrain bounds how many datagrams are read before silence is judged and
// something is said. More than that can't have been queued when the judging
// began: the receive buffer holds fewer.
const maxDrain = 8192

// session is the heartbeats of one link: one goroutine that owns the socket,
// listens, judges and speaks.
type session struct {
	h       *Heartbeat
	log     *slog.Logger
	before  *session // the link's former session, to be awaited
	cancel  context.CancelFunc
	done    chan struct{}
	changed chan struct{} // the link is another now
	speaker *speaker

	mu   sync.Mutex
	link Link
	conn conn // nil while closed

	roster *guarded
	awake  time.Time // when converse last ran
	limit  *limiter
	check  *verifier
	buf    []byte
	events []Event
	// What was heard and not passed on yet: see flush. again has the places of
	// what was said before.
	pending []queued
	again   map[word]int
	news    bool
	flushed time.Time
	// opened is the outcome of the last attempt, to log changes only.
	opened string
}

// guarded is a roster that others look at while the session works with it.
type guarded struct {
	sync.Mutex
	*roster
}

func newSession(h *Heartbeat, l Link, before *session) *session {
	s := &session{
		h: h, link: l, before: before, log: h.log.With("interface", l.Name),
		cancel:  func() {},
		done:    make(chan struct{}),
		changed: make(chan struct{}, 1),
		limit:   newLimiter(),
		check:   newVerifier(h.cfg.keys()...),
		buf:     make([]byte, 1<<16),
		again:   make(map[word]int),
	}
	s.speaker = newSpeaker(s)
	if before != nil {
		s.roster = before.roster
	} else {
		s.roster = &guarded{roster: newRoster(h.self, l.Name, h.cfg.Interval, h.DeadTime())}
	}
	return s
}

// start runs the session until ctx is done or stop is called.
func (s *session) start(ctx context.Context, wg *sync.WaitGroup) {
	inner, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	wg.Go(func() {
		defer close(s.done)
		defer cancel()
		if s.before != nil {
			<-s.before.done // it may hold the port still
			s.before = nil
		}
		unhook := context.AfterFunc(inner, s.hangUp)
		defer unhook()
		s.listen(inner)
		if ctx.Err() == nil { // the link was removed
			s.roster.Lock()
			s.events = s.roster.clear(s.events[:0])
			s.pass(0)
			s.flush(time.Now())
		}
	})
}

// stop ends the session without waiting for it.
func (s *session) stop() {
	s.cancel()
	if s.h.ctx == nil { // never started
		close(s.done)
	}
}

// setLink makes the session go through l, which has the same name as before.
func (s *session) setLink(l Link) {
	s.mu.Lock()
	was := s.link
	s.link = l
	s.mu.Unlock()
	if was == l {
		return
	}
	s.speaker.reshape()
	if was.Index != l.Index || was.Addr != l.Addr {
		s.hangUp()
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// hangUp closes the socket, which makes listen open another.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}

// current returns the link and the socket, nil while closed.
func (s *session) current() (Link, conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link, s.conn
}

// listen keeps a socket open and takes in what arrives until ctx is done.
func (s *session) listen(ctx context.Context) {
	defer s.hangUp()
	wait := firstRetry
	for ctx.Err() == nil {
		c, err := s.open(ctx)
		if err == nil {
			wait = firstRetry
			err = s.converse(ctx, c)
			s.hangUp()
			if errors.Is(err, os.ErrClosed) {
				continue // on purpose: the link changed, or ctx is done
			}
			s.outcome(err)
		}
		s.pause(ctx, wait)
		wait = min(2*wait, lastRetry)
	}
}

// open opens the socket for the link as it is now.
func (s *session) open(ctx context.Context) (conn, error) {
	select {
	case <-s.changed: // it is about to be seen
	default:
	}
	l, _ := s.current()
	c, err := s.h.net.open(l, s.h.cfg.Port, s.h.cfg.Peers)
	if err == nil {
		s.mu.Lock()
		stale := ctx.Err() != nil || s.link.Index != l.Index || s.link.Addr != l.Addr
		if !stale {
			s.conn = c
		}
		s.mu.Unlock()
		if stale { // changed meanwhile
			c.close()
			return nil, os.ErrClosed
		}
	}
	s.outcome(err)
	return c, err
}

// outcome notes why the socket is closed, or nil, and logs changes of that.
func (s *session) outcome(err error) {
	says := "open"
	if err != nil {
		says = err.Error()
	}
	s.mu.Lock()
	was := s.opened
	s.opened = says
	l := s.link
	s.mu.Unlock()
	switch {
	case was == says:
	case err != nil:
		s.log.Warn("heartbeats can't be sent or heard", "err", err)
	default:
		s.log.Info("heartbeats start", "address", l.Addr, "mac", l.MAC)
	}
}

// pause waits to open again, and goes on judging silence meanwhile.
func (s *session) pause(ctx context.Context, wait time.Duration) {
	until := time.NewTimer(wait)
	defer until.Stop()
	judge := time.NewTicker(s.h.cfg.Interval)
	defer judge.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			return
		case <-until.C:
			return
		case now := <-judge.C:
			s.expire(now)
			s.flush(now)
		}
	}
}

// briskFor is how long after news the socket is looked at more often: news
// come in exchanges.
const briskFor = time.Second

// converse hears and speaks until the socket fails or is closed. It looks at
// the socket when there is something to send, and not when something arrives:
// a hundred peers cost as many wake-ups as one, and the kernel notes when each
// datagram came. Around news it looks four times as often.
func (s *session) converse(ctx context.Context, c conn) error {
	interval := s.h.cfg.Interval
	s.awake = time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var brisk time.Time // until then
	for {
		select {
		case <-ctx.Done():
			return os.ErrClosed
		case <-s.speaker.wake:
		case <-timer.C:
		}
		now := s.rouse(interval)
		// What arrived before now must be heard before anybody is judged.
		if err := s.drain(c); err != nil {
			return err
		}
		s.expire(now)
		if s.news {
			brisk = now.Add(briskFor)
		}
		if s.news || now.Sub(s.flushed) >= repeatAfter*interval-interval/2 {
			s.flush(now)
		}
		// The steady pace is never more than an interval and its jitter away.
		next := earlier(s.speaker.speak(now), now.Add(interval*5/4))
		if now.Before(brisk) {
			next = earlier(next, now.Add(interval/4))
		}
		s.roster.Lock()
		if judge := s.roster.next(); !judge.IsZero() {
			next = earlier(next, judge)
		}
		s.roster.Unlock()
		timer.Reset(time.Until(next))
	}
}

// rouse notes that the session runs, and returns when. It means to run once an
// interval; if it didn't for much longer, this process was kept from running,
// and what it missed is nobody's silence.
func (s *session) rouse(interval time.Duration) time.Time {
	now := time.Now()
	if missed := now.Sub(s.awake) - interval*3/2; missed > 0 {
		s.roster.Lock()
		s.roster.excuse(now, missed)
		s.roster.Unlock()
	}
	s.awake = now
	return now
}

// drain takes in all that is queued.
func (s *session) drain(c conn) error {
	for range maxDrain {
		n, at, err := c.poll(s.buf)
		switch {
		case errors.Is(err, errEmpty):
			return nil
		case err != nil:
			return err
		}
		s.take(s.buf[:n], at)
	}
	return nil
}

// take takes in one datagram. The cheap checks come before the costly ones.
func (s *session) take(b []byte, at arrival) {
	if at.hops != gtsm {
		s.drop(HopLimit, at.from, nil)
		return
	}
	d, drop := parse(b)
	if drop == NotDropped {
		drop = s.check.check(&d)
	}
	if drop == NotDropped {
		s.roster.Lock()
		// A datagram that has waited for longer was not read because this process
		// did not run: that is nobody's silence.
		heard := time.Now().Add(-min(at.age, s.h.cfg.Interval))
		s.events, drop = s.roster.hear(heard, &d, at.from, s.events[:0])
		s.pass(d.part)
	}
	if drop != NotDropped {
		s.drop(drop, at.from, d.node)
	}
}

// expire judges who has been silent for too long.
func (s *session) expire(now time.Time) {
	s.roster.Lock()
	s.events = s.roster.expire(now, s.events[:0])
	s.pass(0)
}

// pass takes over what the roster has just made known: who is heard for the
// speaker, the events for the consumer. It unlocks the roster.
func (s *session) pass(part uint16) {
	if s.roster.changed {
		s.roster.changed = false
		s.speaker.hears(s.roster.heard(nil))
	}
	s.roster.Unlock()
	for _, ev := range s.events {
		if !ev.again {
			s.news = true
			// What it says after this must not come before it.
			maps.DeleteFunc(s.again, func(w word, _ int) bool { return w.node == ev.Peer.Node })
			s.pending = append(s.pending, queued{ev, part})
			continue
		}
		w := word{ev.Peer.Node, part}
		if n, ok := s.again[w]; ok {
			s.pending[n].Event = ev
			continue
		}
		s.again[w] = len(s.pending)
		s.pending = append(s.pending, queued{ev, part})
	}
}

// word is one part of what a node says.
type word struct {
	node string
	part uint16
}

// repeatAfter is after how many intervals the consumer is told that everybody
// still says the same.
const repeatAfter = 10

// flush passes the events on to the consumer: all of them with the first news,
// else every repeatAfter intervals. A consumer that is woken for every
// heartbeat of a large segment has little time for anything else, and what is
// said again needs nobody's attention.
func (s *session) flush(now time.Time) {
	for _, ev := range s.pending {
		for range s.h.queue.push(ev.Event, ev.part) {
			s.drop(QueueFull, ev.Peer.Addr, nil)
		}
	}
	clear(s.again)
	s.pending, s.news, s.flushed = s.pending[:0], false, now
}

// drop counts a datagram that is not used, and logs it once in a while.
func (s *session) drop(why Drop, from netip.Addr, node []byte) {
	s.h.drops.Inc(why)
	if !s.log.Enabled(context.Background(), why.level()) {
		return
	}
	silent, ok := s.limit.allow(time.Now(), why, from)
	if !ok {
		return
	}
	attrs := []any{"reason", why, "from", from, "meaning", why.meaning()}
	if len(node) > 0 {
		attrs = append(attrs, "member", string(node))
	}
	if silent > 0 {
		attrs = append(attrs, "more", silent)
	}
	s.log.Log(context.Background(), why.level(), "heartbeat dropped", attrs...)
}

// status is how the session does.
func (s *session) status() LinkStatus {
	s.mu.Lock()
	st := LinkStatus{Link: s.link, Open: s.conn != nil}
	if !st.Open && s.opened != "open" {
		st.Err = s.opened
	}
	s.mu.Unlock()
	if st.Open {
		st.Err = s.speaker.trouble()
	}
	s.roster.Lock()
	defer s.roster.Unlock()
	st.Peers = s.roster.peers()
	return st
}
