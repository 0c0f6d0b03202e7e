package election

import (
	"slices"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// member is a node of the segment, this one included.
type member struct {
	name    string
	seed    uint64 // hash of the name, for rank
	alive   bool
	since   Time // first heard in this life
	heard   Time // last heard
	hearsMe bool
	refusal lb.Refusal // what it says of itself

	shunUntil Time // no target for balance's sake before

	load    int // VIPs that it owns by what this node knows
	pending int // ± for the handovers that this node has under way
	planned int // scratch of a sweep: load, pending, and what was just placed
}

// member returns the node of that name, made when it is new.
func (m *Machine) member(name string) *member {
	i, ok := slices.BinarySearchFunc(m.members, name, func(n *member, name string) int {
		return strings.Compare(n.name, name)
	})
	if !ok {
		m.members = slices.Insert(m.members, i, &member{name: name, seed: nameSeed(name)})
	}
	return m.members[i]
}

// alone reports whether no other member is alive.
func (m *Machine) alone() bool {
	for _, n := range m.members {
		if n.alive && n != m.me {
			return false
		}
	}
	return true
}

// deaf reports whether n will never hear this node: it has been heard for long
// enough to have heard us, and says that it doesn't.
func (m *Machine) deaf(n *member) bool {
	return !n.hearsMe && m.now-n.since > deafAfter*m.cfg.DeadTime
}

// unheard reports whether there are live peers and none of them hears us.
func (m *Machine) unheard() bool {
	for _, n := range m.members {
		if n.alive && n != m.me && !m.deaf(n) {
			return false
		}
	}
	return !m.alone()
}

// cutOffNow reports whether this node's claims are suspect because it was
// probably the one that was cut off. It goes on for one dead time after the
// first peer is heard again, so that every peer hears it say so.
func (m *Machine) cutOffNow() bool {
	return m.cutOff && (m.alone() || m.now < m.joined+m.cfg.DeadTime)
}

// arrive notes that n, not alive so far, was heard.
func (m *Machine) arrive(n *member) {
	if m.alone() {
		m.joined = m.now
	}
	if n.heard > 0 {
		// It was lost and is back: while it was away it may have told the network
		// that our VIPs are there, and it may give way before we ever hear of it.
		for _, v := range m.vips {
			if v.owner == m.me && !v.suspended {
				v.generation++
			}
		}
	}
	n.alive, n.since = true, m.now
	m.changed()
}

// depart notes that n was judged dead.
func (m *Machine) depart(n *member) {
	wasCutOff := m.cutOffNow()
	n.alive, n.hearsMe, n.heard = false, false, m.now
	if m.alone() {
		// To lose several peers at once means to be cut off; to lose the only
		// one there was could be either.
		m.cutOff = wasCutOff || m.lastLoss != never && m.now-m.lastLoss <= deafAfter*m.cfg.DeadTime
	}
	m.lastLoss = m.now
	m.changed()
}

// changed notes that who may own what has changed.
func (m *Machine) changed() {
	m.dirty = true
	m.version++
}

// refusalOf returns why n may not own v, a hard reason before a soft one.
func refusalOf(n *member, v *vip) lb.Refusal {
	r := v.refused[n.name]
	if r == lb.Eligible || r.Soft() && n.refusal != lb.Eligible && !n.refusal.Soft() {
		return n.refusal
	}
	return r
}

// tier says how willingly a node is given a VIP; lower is better.
type tier uint8

const (
	eligible  tier = iota
	tolerated      // refused for a soft reason: only if nobody is eligible
	barred
)

// tierOf returns the tier of n for v. A node that hears nobody is as good as
// any: where that matters, deaf and cutOff see to it.
func tierOf(n *member, v *vip) tier {
	if !n.alive {
		return barred
	}
	r := refusalOf(n, v)
	switch {
	case r == lb.Eligible || r == lb.HearsNobody:
		return eligible
	case r.Soft():
		return tolerated
	}
	return barred
}

// bestTier returns the tier that the candidates for v are in.
func (m *Machine) bestTier(v *vip) tier {
	best := barred
	for _, n := range m.members {
		best = min(best, tierOf(n, v))
	}
	return best
}

// mayOwn reports whether this node is a candidate for v.
func (m *Machine) mayOwn(v *vip) bool {
	t := tierOf(m.me, v)
	return t == eligible || t == tolerated && m.bestTier(v) == tolerated
}
