package announce

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"golang.org/x/time/rate"
)

// Family is the protocol that tells where an address is.
type Family uint8

// The families.
const (
	ARP Family = iota // IPv4
	NDP               // IPv6
	numFamilies
)

// Families is how many there are, for arrays indexed by family.
const Families = int(numFamilies)

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return ARP
	}
	return NDP
}

func (f Family) String() string {
	if f == ARP {
		return "arp"
	}
	return "ndp"
}

// throttled is how long to wait when the token bucket is empty: long enough to
// send several frames at once then.
const throttled = 20 * time.Millisecond

// segment is all that is announced through one link. It is pure: frames and
// the time go in, what to send comes out, and changes of state are left in
// changes.
type segment struct {
	link    Link     // the desired one; its entries are those below
	entries []*entry // sorted by address
	byAddr  map[netip.Addr]*entry
	ready   [numFamilies]bool                 // frames can be sent and received
	limiter *rate.Limiter                     // of frames to groups
	refresh func(time.Duration) time.Duration // see [entry.sent]
	changes []change
}

// change is a change of what is done about an address.
type change struct {
	addr     netip.Addr
	from, to State
	added    bool // from has no meaning
	removed  bool // to has no meaning
	stranger lb.MAC
}

func newSegment(limiter *rate.Limiter, refresh func(time.Duration) time.Duration) *segment {
	return &segment{byAddr: make(map[netip.Addr]*entry), limiter: limiter, refresh: refresh}
}

// apply makes d what is announced.
func (s *segment) apply(d Link, now time.Time) {
	moved := d.MAC != s.link.MAC
	s.link = d
	old := s.byAddr
	s.byAddr = make(map[netip.Addr]*entry, len(d.Entries))
	s.entries = make([]*entry, 0, len(d.Entries))
	for _, want := range d.Entries {
		e := old[want.Addr]
		delete(old, want.Addr)
		switch {
		case e == nil:
			e = newEntry(want, now)
			s.changes = append(s.changes, change{addr: e.addr, to: s.state(e), added: true})
		case moved:
			s.do(e, func() { e.restart(now) })
		case e.generation != want.Generation:
			s.do(e, func() { e.again(now) })
		}
		e.generation = want.Generation
		e.plan(want.Schedule)
		if !e.stranger.IsZero() && s.who(e.stranger) != stranger {
			s.do(e, func() { e.absolve(now) })
		}
		s.byAddr[e.addr] = e
		s.entries = append(s.entries, e)
	}
	for _, e := range old {
		s.changes = append(s.changes, change{addr: e.addr, from: s.state(e), removed: true})
	}
}

// setReady says whether frames of the family can be sent and received. When
// they can (again), everything starts anew.
func (s *segment) setReady(f Family, ready bool, now time.Time) {
	if s.ready[f] == ready {
		return
	}
	s.ready[f] = ready
	for _, e := range s.entries {
		if FamilyOf(e.addr) != f {
			continue
		}
		from, to := e.state, Waiting
		if ready {
			e.restart(now)
			from, to = Waiting, e.state
		}
		s.changes = append(s.changes, change{addr: e.addr, from: from, to: to, stranger: e.stranger})
	}
}

// resume is called when time has passed unobserved: answers to the probes that
// are out may still be unread, so the round doesn't count.
func (s *segment) resume(now time.Time) {
	for _, e := range s.entries {
		if !e.answers() && e.probes > 0 {
			e.probes, e.due = 0, now
		}
	}
}

// state is the state of e as seen from outside.
func (s *segment) state(e *entry) State {
	if !s.ready[FamilyOf(e.addr)] {
		return Waiting
	}
	return e.state
}

// do runs f, which may change the state of e.
func (s *segment) do(e *entry, f func()) {
	before := s.state(e)
	f()
	s.note(e, before)
}

func (s *segment) note(e *entry, before State) {
	if after := s.state(e); after != before {
		s.changes = append(s.changes, change{addr: e.addr, from: before, to: after, stranger: e.stranger})
	}
}

// tick sends what is due, the most urgent first and no more than the token
// bucket has. send returns false to stop. tick returns when it wants to be
// called again, or the zero Time for never.
func (s *segment) tick(now time.Time, send func(packet.Frame, Sent) bool) time.Time {
	var next time.Time
	wait := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	var jobs [numJobs][]*entry
	for _, e := range s.entries {
		if !s.ready[FamilyOf(e.addr)] {
			continue
		}
		s.do(e, func() { e.pass(now) })
		if e.due.After(now) {
			wait(e.due)
			continue
		}
		jobs[e.job()] = append(jobs[e.job()], e)
	}
	for j, due := range jobs {
		// Who has waited longest comes first, or low addresses would send their
		// whole burst before high ones send their second announcement.
		slices.SortStableFunc(due, func(a, b *entry) int { return a.due.Compare(b.due) })
		for _, e := range due {
			frames := s.frames(e, job(j))
			if !s.limiter.AllowN(now, len(frames)) {
				wait(now.Add(throttled))
				return next
			}
			for _, f := range frames {
				if !send(f.frame, f.kind) {
					return next
				}
			}
			e.sent(now, s.refresh)
			wait(e.due)
		}
	}
	return next
}

type outgoing struct {
	frame packet.Frame
	kind  Sent
}

func (s *segment) frames(e *entry, j job) []outgoing {
	mac := s.link.MAC
	switch {
	case j == probeJob && e.addr.Is4():
		return []outgoing{{packet.Probe(mac, e.addr), SentProbe}}
	case j == probeJob:
		return []outgoing{{packet.Detect(mac, e.addr), SentProbe}}
	case e.addr.Is4():
		return []outgoing{
			{packet.GratuitousRequest(mac, e.addr), SentRequestForm},
			{packet.GratuitousReply(mac, e.addr), SentReplyForm},
		}
	}
	return []outgoing{{packet.Unsolicited(mac, e.addr), SentAdvertisement}}
}

// groups returns the solicited-node groups of the entries, sorted. Addresses
// that agree in their last 24 bits share one.
func (s *segment) groups() []netip.Addr {
	var g []netip.Addr
	for _, e := range s.entries {
		if e.addr.Is6() {
			g = append(g, packet.SolicitedNode(e.addr))
		}
	}
	slices.SortFunc(g, netip.Addr.Compare)
	return slices.Compact(g)
}

// has reports whether there is an entry of the family.
func (s *segment) has(f Family) bool {
	return slices.ContainsFunc(s.entries, func(e *entry) bool { return FamilyOf(e.addr) == f })
}

func compareEntries(a, b Entry) int { return a.Addr.Compare(b.Addr) }

func compareStatus(a, b Status) int {
	return cmp.Or(cmp.Compare(a.Interface, b.Interface), a.Addr.Compare(b.Addr))
}
