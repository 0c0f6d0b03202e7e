package announce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-lb/fairlead/internal/metrics"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// Announcer is the driver. Its methods may be called from any goroutine.
//
// One lock guards everything. Whoever decides to send a frame sends it before
// he lets go of the lock, and a send never blocks: so when Set returns, nothing
// of what it took away is sent any more. What may block (opening and closing
// sockets, joining groups, logging) is done without the lock.
type Announcer struct {
	log     *slog.Logger
	opts    Options
	ignored [numFamilies]*metrics.Vec[Ignored]
	sent    [numFamilies]*metrics.Vec[Sent]

	start  time.Time
	until  atomic.Int64 // the fence, in nanoseconds after start
	lapsed atomic.Bool  // the fence was closed since the last tick

	events chan struct{} // some Status changed
	wake   chan struct{} // something may be due earlier than expected
	plumb  chan struct{} // sockets or groups may be missing or left over

	mu      sync.Mutex
	wires   []*wire // sorted by name
	retired []*port // to be closed
	lines   []func(*slog.Logger)
	readers sync.WaitGroup
}

// New returns an Announcer that announces nothing yet. Its counters are
// registered with set.
func New(log *slog.Logger, set *metrics.Set, opts Options) *Announcer {
	a := &Announcer{
		log:    log,
		opts:   opts.withDefaults(),
		start:  time.Now(),
		events: make(chan struct{}, 1),
		wake:   make(chan struct{}, 1),
		plumb:  make(chan struct{}, 1),
	}
	for f := range numFamilies {
		a.ignored[f] = metrics.Register[Ignored](set, f.String()+"_ignored", "Frames without an answer, by reason.", IgnoredReasons)
		a.sent[f] = metrics.Register[Sent](set, f.String()+"_sent", "Frames sent, by kind.", int(numSent))
	}
	return a
}

func (a *Announcer) String() string { return "announce" }

// Run announces until ctx ends. It is called once.
func (a *Announcer) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.runSchedule(ctx) })
	g.Go(func() error { return a.runSockets(ctx) })
	return g.Wait()
}

// Extend opens the fence: until that moment, on the monotonic clock, answers
// and announcements may be sent. The owner of the decision who announces what
// calls it every few milliseconds, each time after having looked at everything
// it has heard. A process that was stopped thus stays silent when it goes on,
// until its decision is a fresh one. A moment in the past closes the fence; it
// is closed at first.
func (a *Announcer) Extend(until time.Time) {
	before := a.until.Swap(int64(until.Sub(a.start)))
	if int64(time.Since(a.start)) >= before {
		a.lapsed.Store(true)
		nudge(a.wake)
	}
}

func (a *Announcer) fenced() bool { return int64(time.Since(a.start)) >= a.until.Load() }

// Events delivers when some Status changed since the last delivery.
func (a *Announcer) Events() <-chan struct{} { return a.events }

// Set makes d what is announced. It keeps no reference to d. An entry that was
// there before goes on without a new probe, also when its link has been renamed
// or made anew. What is wrong with a part of d is in the error; the rest is
// announced.
func (a *Announcer) Set(d Desired) error {
	d, err := validate(d)
	now := time.Now()
	a.mu.Lock()
	defer a.unlock()

	wires := make([]*wire, 0, len(d.Links))
	for _, l := range d.Links {
		w := a.find(l, d)
		if w == nil {
			w = &wire{segment: newSegment(rate.NewLimiter(rate.Limit(a.opts.Rate), a.opts.Burst), a.opts.jittered)}
		}
		if !equalLinks(w.link, l) {
			a.update(w, l, now)
		}
		wires = append(wires, w)
	}
	for _, w := range a.wires {
		if !slices.Contains(wires, w) {
			a.update(w, Link{Name: w.link.Name, Index: w.link.Index}, now)
		}
	}
	a.wires = wires
	return err
}

// find returns the wire of a link: the one of that name, or else the one of
// that index, if its name is used no more.
func (a *Announcer) find(l Link, d Desired) *wire {
	for _, w := range a.wires {
		if w.link.Name == l.Name {
			return w
		}
	}
	for _, w := range a.wires {
		if w.link.Index == l.Index && !slices.ContainsFunc(d.Links, func(o Link) bool { return o.Name == w.link.Name }) {
			return w
		}
	}
	return nil
}

// update makes l what is announced through w.
func (a *Announcer) update(w *wire, l Link, now time.Time) {
	l.Members, l.Entries = slices.Clone(l.Members), slices.Clone(l.Entries)
	if w.link.Index != l.Index || w.link.Up != l.Up {
		for f := range numFamilies {
			w.retry[f] = backoff{} // what failed before may work now
			a.detach(w, f, now)
		}
	}
	w.apply(l, now)
	for f := range numFamilies {
		if !w.wants(f) {
			a.detach(w, f, now)
		}
	}
	a.settle(w)
	nudge(a.wake)
	nudge(a.plumb)
}

// validate returns the part of d that can be announced, and what is wrong with
// the rest.
func validate(d Desired) (Desired, error) {
	var errs []error
	seen := make(map[string]bool)
	links := make([]Link, 0, len(d.Links))
	for _, l := range d.Links {
		switch {
		case seen[l.Name]:
			errs = append(errs, fmt.Errorf("announce on %s: the link is listed twice", l.Name))
			continue
		case l.Up && l.MAC.IsZero():
			errs = append(errs, fmt.Errorf("announce on %s: the link has no hardware address", l.Name))
			continue
		}
		seen[l.Name] = true
		entries := slices.SortedStableFunc(slices.Values(l.Entries), compareEntries)
		l.Entries = slices.CompactFunc(entries, func(x, y Entry) bool { return x.Addr == y.Addr })
		l.Entries = slices.DeleteFunc(l.Entries, func(e Entry) bool {
			ok := e.Addr.IsGlobalUnicast() && !e.Addr.Is4In6() && e.Addr.Zone() == ""
			if !ok {
				errs = append(errs, fmt.Errorf("announce %s on %s: not a unicast address that can be announced", e.Addr, l.Name))
			}
			return !ok
		})
		links = append(links, l)
	}
	slices.SortFunc(links, func(x, y Link) int { return compareStatus(Status{Interface: x.Name}, Status{Interface: y.Name}) })
	return Desired{Links: links}, errors.Join(errs...)
}

func equalLinks(a, b Link) bool {
	return a.Name == b.Name && a.Index == b.Index && a.MAC == b.MAC && a.Up == b.Up &&
		slices.Equal(a.Members, b.Members) && slices.Equal(a.Entries, b.Entries) && a.Hold == b.Hold
}

// Status returns what is done about each entry, sorted by interface and
// address. The counters of the kernel are as fresh as the answer.
func (a *Announcer) Status() []Status {
	a.mu.Lock()
	defer a.unlock()
	var all []Status
	for _, w := range a.wires {
		a.fold(w)
		for _, e := range w.entries {
			s := Status{Interface: w.link.Name, Addr: e.addr, State: w.state(e)}
			if s.State == Waiting {
				s.Err = w.why(FamilyOf(e.addr))
			} else {
				s.Stranger = e.stranger
			}
			all = append(all, s)
		}
	}
	return all
}

// Trouble says why nothing of a family can be announced on a link, in one line:
// no permission, IPv6 disabled. It is "" when something can, when a socket that
// worked has failed just now, and when nothing is known: for a link that is
// down, or that neither announces nor holds the family.
func (a *Announcer) Trouble(ifname string, f Family) string {
	a.mu.Lock()
	defer a.unlock()
	for _, w := range a.wires {
		if w.link.Name == ifname {
			return w.trouble(f, time.Now())
		}
	}
	return ""
}

// runSchedule sends what is due.
func (a *Announcer) runSchedule(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-a.wake:
		}
		if next := a.tick(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// tick sends what is due and returns when to be called again at the latest.
// Behind a closed fence nothing is ever due: Extend wakes the schedule.
func (a *Announcer) tick() time.Time {
	a.mu.Lock()
	defer a.unlock()
	var next time.Time
	lapsed := a.lapsed.Swap(false)
	for _, w := range a.wires {
		if a.fenced() {
			a.lapsed.Store(true)
			return time.Time{}
		}
		now := time.Now()
		if lapsed {
			w.resume(now)
		}
		t := w.tick(now, func(f packet.Frame, kind Sent) bool { return a.transmit(w, f, kind) })
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
		a.settle(w)
	}
	return next
}

// receive decides about one frame and answers it.
func (a *Announcer) receive(w *wire, p *port, b []byte) {
	ignored := a.ignored[p.family]
	f, why := packet.Parse(b)
	if why != packet.Accepted {
		ignored.Inc(refused(why))
		return
	}
	a.mu.Lock()
	defer a.unlock()
	if w.ports[p.family] != p {
		ignored.Inc(NotAnnounced) // read before the socket was taken away
		return
	}
	v := w.hear(f, time.Now())
	a.settle(w)
	switch {
	case v.ignored != Heeded:
		ignored.Inc(v.ignored)
	case a.fenced():
		ignored.Inc(Fenced)
	}
	if v.kind != SentNothing {
		a.transmit(w, v.frame, v.kind)
	}
}

// transmit sends one frame. It returns false, and sends nothing, behind a
// closed fence.
func (a *Announcer) transmit(w *wire, f packet.Frame, kind Sent) bool {
	if a.fenced() {
		return false
	}
	family := NDP
	if f.Eth.Type == packet.TypeARP {
		family = ARP
	}
	p := w.ports[family]
	if p == nil {
		return true
	}
	if _, err := p.socket.Write(f.Bytes()); err != nil {
		// A link that goes down says so on the reading side, too.
		kind = SentFailed
	}
	a.sent[family].Inc(kind)
	return true
}

// settle makes known what has changed on a wire.
func (a *Announcer) settle(w *wire) {
	if len(w.changes) == 0 {
		return
	}
	for _, c := range w.changes {
		if p := w.ports[FamilyOf(c.addr)]; p != nil {
			p.want(c)
		}
		a.report(w, c)
	}
	w.changes = w.changes[:0]
	nudge(a.events)
	nudge(a.wake)
	nudge(a.plumb)
}

// report logs a change of state once the lock is free.
func (a *Announcer) report(w *wire, c change) {
	args := []any{"interface", w.link.Name, "vip", c.addr}
	level, msg := slog.LevelDebug, ""
	switch {
	case c.removed:
		msg = "announcing stopped"
	case c.to == Conflict:
		level, msg = slog.LevelWarn, "address is in use by another host, not announcing"
		args = append(args, "mac", c.stranger)
	case c.to == Contested:
		level, msg = slog.LevelWarn, "another host claims the address"
		args = append(args, "mac", c.stranger)
	case !c.added && (c.from == Conflict || c.from == Contested):
		level, msg = slog.LevelInfo, "the other host is gone"
	default:
		msg = c.to.String()
	}
	if a.log.Enabled(context.Background(), level) {
		a.lines = append(a.lines, func(log *slog.Logger) { log.Log(context.Background(), level, msg, args...) })
	}
}

// unlock frees the lock and then logs: a log that blocks must not hold up
// answers.
func (a *Announcer) unlock() {
	lines := a.lines
	a.lines = nil
	a.mu.Unlock()
	for _, line := range lines {
		line(a.log)
	}
}

// fold adds what the kernel has counted since the last time.
func (a *Announcer) fold(w *wire) {
	for f, p := range w.ports {
		if p != nil {
			p.fold(a.ignored[f])
		}
	}
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
