package election

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

const (
	never = Time(math.MinInt64 / 2) // long ago
	far   = Time(math.MaxInt64)     // not to be expected

	// In dead times.
	deafAfter        = 2  // a peer that doesn't hear us by then won't
	handoverPatience = 3  // for a target to claim
	handoverPause    = 10 // when every target failed

	// In RebalanceAfters: how long a node that did not take what it was offered
	// for balance's sake is not offered anything.
	shunFor = 10

	// Addresses that are not in the snapshot.
	maxRemembered = 65536
	forgetAfter   = 10 * time.Minute
	forgetEvery   = time.Minute
)

// Config is what a Machine needs to know at its start.
type Config struct {
	Self string // this node's name
	// DeadTime is the silence after which a claim is void: 150 ms by default.
	DeadTime time.Duration
	// RebalanceAfter is how long an imbalance must last before VIPs are moved
	// for it: 30 s by default.
	RebalanceAfter time.Duration
	// BootEpoch is the least epoch to claim with: the wall clock's seconds at
	// the start. Nothing depends on its being right.
	BootEpoch uint64
}

// Effects is what a caller has to do besides looking at the View.
type Effects struct {
	Transitions []Transition
	// SendNow asks for a heartbeat at once instead of at its usual time.
	SendNow bool
}

// Machine is the election on one segment as seen by one node. It is not safe
// for concurrent use.
type Machine struct {
	cfg Config
	now Time // of the last call

	me      *member
	members []*member // by name
	known   map[netip.Addr]*vip
	vips    []*vip // the wanted ones of known, by address

	listenUntil Time   // nothing is claimed before
	next        Time   // when a sweep may find something to do
	dirty       bool   // a sweep will find something to do
	uneven      Time   // since when the loads differ too much, or never
	weighed     uint64 // the version that uneven was last judged at
	forgetAt    Time

	saysCutOff bool // what cutOffNow was when last looked at

	cutOff   bool // has heard nobody yet, or lost several peers at once
	joined   Time // when the first peer was heard after there was none
	lastLoss Time // when a peer was last lost

	version uint64
	effects Effects
}

// New returns a Machine that has begun to listen.
func New(cfg Config, now Time) *Machine {
	if cfg.DeadTime <= 0 {
		cfg.DeadTime = 150 * time.Millisecond
	}
	if cfg.RebalanceAfter <= 0 {
		cfg.RebalanceAfter = 30 * time.Second
	}
	m := &Machine{
		cfg:         cfg,
		now:         now,
		known:       make(map[netip.Addr]*vip),
		listenUntil: now + cfg.DeadTime,
		next:        now + cfg.DeadTime,
		uneven:      never,
		forgetAt:    now + forgetEvery,
		cutOff:      true,
		lastLoss:    never,
	}
	m.me = m.member(cfg.Self)
	m.me.alive, m.me.hearsMe, m.me.since = true, true, now
	return m
}

// SetVIPs replaces the addresses to be owned.
func (m *Machine) SetVIPs(now Time, vips []VIP) {
	m.enter(now)
	wanted := make(map[netip.Addr]bool, len(vips))
	for _, w := range vips {
		wanted[w.Addr] = true
	}
	m.vips = slices.DeleteFunc(m.vips, func(v *vip) bool {
		if wanted[v.addr] {
			return false
		}
		m.drop(v)
		return true
	})
	for _, w := range vips {
		v := m.known[w.Addr]
		if v == nil {
			v = &vip{addr: w.Addr, told: never}
			m.known[w.Addr] = v
		}
		if !maps.Equal(v.refused, w.Refused) {
			v.refused = maps.Clone(w.Refused)
			m.changed()
		}
		if !v.wanted {
			v.wanted, v.orphaned = true, now
			m.vips = append(m.vips, v)
			m.observe(v)
			m.changed()
		}
	}
	slices.SortFunc(m.vips, compareVIPs)
	m.settle()
}

// drop ends the ownership of an address that is not in the snapshot any more.
func (m *Machine) drop(v *vip) {
	if v.owner == m.me {
		m.release(v)
	} else if v.owner != nil {
		m.setOwner(v, nil, 0)
	}
	v.wanted, v.refused, v.heard = false, nil, m.now
	m.changed()
}

// SetSelf tells the Machine why this node should not own anything, or
// Eligible. InterfaceDown releases everything at once.
func (m *Machine) SetSelf(now Time, refusal lb.Refusal) {
	m.enter(now)
	if refusal != m.me.refusal {
		if refusal == lb.InterfaceDown {
			m.cutOff = true
		} else if m.me.refusal == lb.InterfaceDown {
			m.listen()
			m.joined = now // peers that were not lost meanwhile count anew
		}
		m.me.refusal = refusal
		m.changed()
	}
	m.settle()
}

// Heard takes in a beat of another node. hearsMe is whether that node says
// that it hears this one.
func (m *Machine) Heard(now Time, from string, hearsMe bool, b Beat) {
	m.enter(now)
	p := m.member(from)
	if p == m.me {
		return
	}
	if !p.alive {
		m.arrive(p)
	}
	if p.hearsMe != hearsMe || p.refusal != b.Refusal {
		p.hearsMe, p.refusal = hearsMe, b.Refusal
		m.changed()
	}
	p.heard = now
	for _, c := range b.Claims {
		m.heardClaim(p, c)
	}
	for _, h := range b.Handovers {
		m.heardHandover(p, h)
	}
	if len(b.Claims) < p.load {
		m.wakeAt(now + m.cfg.DeadTime/3) // some of its claims may lapse
	}
	m.settle()
}

// Lost takes in that membership judged a node dead.
func (m *Machine) Lost(now Time, node string) {
	m.enter(now)
	i := slices.IndexFunc(m.members, func(n *member) bool { return n.name == node && n.alive && n != m.me })
	if i < 0 {
		m.settle()
		return
	}
	p := m.members[i]
	m.depart(p)
	for _, v := range m.known {
		v.claims = slices.DeleteFunc(v.claims, func(r rival) bool { return r.by == p })
	}
	for _, v := range m.vips {
		if v.owner == p {
			m.observe(v)
		}
	}
	m.settle()
}

// Tick does what is due. It must be called at the Deadline, and at least every
// two thirds of a dead time: a longer gap than the dead time is taken for a pause.
func (m *Machine) Tick(now Time) {
	m.enter(now)
	m.settle()
	if now >= m.forgetAt {
		m.forget()
	}
}

// Deadline returns when the next Tick is of use.
func (m *Machine) Deadline() (Time, bool) {
	return min(m.next, m.now+m.cfg.DeadTime*2/3), len(m.known) > 0
}

// enter begins every call that has a time.
func (m *Machine) enter(now Time) {
	gap := now - m.now
	m.now = now
	if gap > m.cfg.DeadTime {
		m.pause()
	}
}

// pause notes that this node has not run for a while: whoever listened may
// have replaced it, and whoever spoke was not heard.
func (m *Machine) pause() {
	m.listen()
	for _, v := range m.vips {
		if v.owner != m.me || v.suspended {
			continue
		}
		m.endHandover(v)
		v.suspended = true
		m.emit(v, Paused, m.cfg.Self, m.cfg.Self)
		m.changed()
	}
}

// listen begins a dead time in which nothing is claimed.
func (m *Machine) listen() {
	m.listenUntil = m.now + m.cfg.DeadTime
	m.dirty = true
}

// wakeAt makes sure that there is a sweep at t or before.
func (m *Machine) wakeAt(t Time) { m.next = min(m.next, t) }

// settle ends every call that may have changed something.
func (m *Machine) settle() {
	if now := m.cutOffNow(); now != m.saysCutOff { // the beat says so
		m.saysCutOff = now
		m.changed()
	}
	if m.dirty || m.now >= m.next {
		m.sweep()
	}
}

// sweep looks at every VIP, in the order of their addresses, and does what is
// due.
func (m *Machine) sweep() {
	m.dirty, m.next = false, far
	for _, n := range m.members {
		n.planned = n.load + n.pending
	}
	for _, v := range m.vips {
		m.wakeAt(m.look(v))
	}
	m.wakeAt(m.rebalance())
	if m.saysCutOff && !m.alone() {
		m.wakeAt(m.joined + m.cfg.DeadTime)
	}
}

// look does what is due for v and returns when to look again, which is later
// than now.
func (m *Machine) look(v *vip) Time {
	switch v.owner {
	case m.me:
		return m.keep(v)
	case nil:
		return m.adopt(v)
	}
	return m.watch(v)
}

// watch looks after a VIP that another node owns. Its claim lapses by what the
// owner says and not by time, so there is nothing to look at while it was in the
// owner's last words.
func (m *Machine) watch(v *vip) Time {
	for _, r := range v.claims {
		switch {
		case r.by != v.owner || r.stale(m.cfg.DeadTime):
			continue
		case r.at == r.by.heard:
			return far
		}
		return m.now + m.cfg.DeadTime/3
	}
	v.owner.planned--
	m.observe(v)
	if v.owner != nil {
		v.owner.planned++
	}
	return m.look(v)
}

// adopt looks after an orphan: the best candidate claims it at once, the next
// one a dead time later, and so on, so that differing views never leave it
// without an owner. What a better one is expected to claim counts as its load
// already, so that all nodes deal out many orphans alike.
func (m *Machine) adopt(v *vip) Time {
	best, wait := m.place(v)
	if best == nil {
		return far
	}
	due := max(v.orphaned, m.listenUntil) + wait
	if tierOf(m.me, v) == barred {
		due = far
	}
	if m.now < due {
		best.planned++
		return due
	}
	m.me.planned++
	m.claim(v, m.nextEpoch(v), Claimed, "")
	return m.keep(v)
}

// rebalance hands VIPs over when the loads have differed by more than one for
// long enough, to peers that have been there for as long.
func (m *Machine) rebalance() Time {
	if m.version != m.weighed {
		m.weighed = m.version
		switch {
		case len(plan(m.members, m.vips, 1)) == 0:
			m.uneven = never
		case m.uneven == never:
			m.uneven = m.now
		}
	}
	if m.uneven == never {
		return far
	}
	if due := m.uneven + m.cfg.RebalanceAfter; m.now < due {
		return due
	}
	m.uneven = m.now
	for _, mv := range plan(m.members, m.vips, len(m.vips)) {
		settled := m.now-mv.to.since >= m.cfg.RebalanceAfter && m.now >= mv.to.shunUntil
		if mv.from == m.me && !mv.v.suspended && settled {
			m.startHandover(mv.v, mv.to, true)
		}
	}
	return m.now + m.cfg.RebalanceAfter
}

// forget drops what has not been heard of for long.
func (m *Machine) forget() {
	m.forgetAt = m.now + forgetEvery
	old := m.now - forgetAfter
	maps.DeleteFunc(m.known, func(_ netip.Addr, v *vip) bool { return !v.wanted && v.heard < old })
	m.members = slices.DeleteFunc(m.members, func(n *member) bool {
		gone := !n.alive && n.heard < old
		if gone {
			m.version++
		}
		return gone
	})
}
