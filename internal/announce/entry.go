package announce

import (
	"net/netip"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// The schedule of an entry.
const (
	// RFC 5227 §2.1.1 waits 0–1 s, probes 3 times 1–2 s apart and then listens
	// for 2 s: up to 7 s without a service, made for links that take seconds to
	// come up and for humans who plug in printers. Here the link is known to be
	// up, and an address on it that is in use is held by a running host, which
	// answers within milliseconds. A slower one is still found, because claims
	// are watched for as long as the address is announced.
	probeCount   = 3
	probeSpacing = 100 * time.Millisecond
	probeWait    = 100 * time.Millisecond
	// reprobe is how long an address is left to the stranger that has it.
	reprobe = 10 * time.Second

	// Linux ignores a change to an ARP entry for 1 s after the last one
	// (locktime), so closer announcements would be lost on the very hosts that
	// just learnt something wrong (metallb#172).
	burstCount   = 5
	burstSpacing = 1100 * time.Millisecond

	// defendInterval is DEFEND_INTERVAL of RFC 5227 §2.4: at most one
	// contradiction per address, so that two defenders don't fill the segment.
	defendInterval = 10 * time.Second
	// contestQuiet is how long a stranger must be silent to be taken for gone.
	contestQuiet = 20 * time.Second
)

// entry is what happens with one address on one segment. It is pure: the time
// is an argument, and what is to be sent is read out with job and acknowledged
// with sent.
//
// The state is never Waiting here: whether the segment can send at all is the
// segment's own knowledge.
type entry struct {
	addr       netip.Addr
	generation uint64
	schedule   lb.Gratuitous // Count and Spacing are set, Refresh may be zero

	state    State
	stranger lb.MAC
	due      time.Time // of the next step

	probes   int       // sent in this round of probing
	burst    int       // announcements left in this burst; 0: refreshing
	defended time.Time // last contradiction
}

func newEntry(want Entry, now time.Time) *entry {
	e := &entry{addr: want.Addr, generation: want.Generation}
	e.plan(want.Schedule)
	if want.Probe {
		e.probe(now)
	} else {
		e.announce(now)
	}
	return e
}

// plan sets the schedule; what is under way goes on by the new one.
func (e *entry) plan(g lb.Gratuitous) {
	if g.Count <= 0 {
		g.Count = burstCount
	}
	if g.Spacing <= 0 {
		g.Spacing = burstSpacing
	}
	e.schedule = g
	e.burst = min(e.burst, g.Count)
}

func (e *entry) probe(now time.Time) {
	e.state, e.probes, e.due = Probing, 0, now
}

func (e *entry) announce(now time.Time) {
	e.state, e.stranger, e.burst, e.due = Announcing, lb.MAC{}, e.schedule.Count, now
}

// answers reports whether questions about the address are answered.
func (e *entry) answers() bool { return e.state == Announcing || e.state == Contested }

// restart begins anew, because the segment may have learnt nothing of what was
// sent: the link was down, or our hardware address is another one. Who was
// answering before goes on without a probe.
func (e *entry) restart(now time.Time) {
	if e.answers() {
		e.announce(now)
		return
	}
	e.probes, e.due = 0, now
}

// again starts the burst anew for a new generation. In a contest every
// announcement counts as a defence, and the end of the contest brings a burst
// anyway.
func (e *entry) again(now time.Time) {
	if e.state == Announcing {
		e.announce(now)
	}
}

// claimed notes that a stranger has or wants the address. defend asks for one
// contradiction.
func (e *entry) claimed(by lb.MAC, now time.Time) (defend bool) {
	if e.wanted(by, now); e.state != Contested {
		return false
	}
	if !e.defended.IsZero() && now.Sub(e.defended) < defendInterval {
		return false
	}
	e.defended = now
	return true
}

// wanted notes that a stranger is about to take the address, which an answer
// keeps him from: there is nothing to contradict. The first of several
// strangers is the one that is named.
func (e *entry) wanted(by lb.MAC, now time.Time) {
	switch e.state {
	case Probing, Conflict:
		if e.state == Probing {
			e.state, e.stranger = Conflict, by
		}
		e.probes, e.due = 0, now.Add(reprobe)
	case Announcing, Contested:
		if e.state == Announcing {
			e.state, e.stranger = Contested, by
		}
		e.due = now.Add(contestQuiet)
	}
}

// absolve notes that the stranger has turned out to be a member.
func (e *entry) absolve(now time.Time) {
	if e.state == Contested {
		e.announce(now)
		return
	}
	e.stranger = lb.MAC{}
	e.probe(now)
}

// pass does what time alone brings about: a round of probes that nobody
// answered is over, a stranger has fallen silent. It reports a change of state.
func (e *entry) pass(now time.Time) bool {
	if now.Before(e.due) {
		return false
	}
	if e.state == Contested || !e.answers() && e.probes == probeCount {
		e.announce(now)
		return true
	}
	return false
}

// job is what an entry has to send when it is due, the most urgent first.
type job uint8

const (
	announceFirst job = iota // the segment still sends to the old owner
	probeJob
	announceMore
	refreshJob
	numJobs
)

func (e *entry) job() job {
	switch {
	case !e.answers():
		return probeJob
	case e.burst == e.schedule.Count:
		return announceFirst
	case e.burst > 0:
		return announceMore
	}
	return refreshJob
}

// sent notes that the job was done and plans the next one. refresh turns the
// scheduled time between refreshes, or zero, into the time to the next one.
func (e *entry) sent(now time.Time, refresh func(time.Duration) time.Duration) {
	if !e.answers() {
		e.probes++
		e.due = now.Add(probeSpacing)
		if e.probes == probeCount {
			e.due = now.Add(probeWait)
		}
		return
	}
	e.burst = max(e.burst-1, 0)
	e.due = now.Add(e.schedule.Spacing)
	if e.burst == 0 {
		e.due = now.Add(refresh(e.schedule.Refresh))
	}
}
