package election

import (
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// handover is the owner's side of a planned move of one VIP.
type handover struct {
	target    *member
	epoch     uint64 // that the target should claim
	until     Time   // when to give up on the target
	rebalance bool   // for balance's sake: not to be tried again
	tried     []*member
	retry     Time // not to be tried again before
}

// startHandover asks target to take v.
func (m *Machine) startHandover(v *vip, target *member, rebalance bool) {
	v.target, v.rebalance = target, rebalance
	v.handover.epoch = m.nextEpoch(v)
	v.highest = v.handover.epoch
	v.until = m.now + handoverPatience*m.cfg.DeadTime
	m.shift(target, +1)
	m.version++
	m.effects.SendNow = true
	m.effects.Transitions = append(m.effects.Transitions,
		Transition{v.addr, HandoverStarted, m.cfg.Self, target.name, v.handover.epoch})
	m.wakeAt(v.until)
}

// endHandover forgets the handover of v, if there is one.
func (m *Machine) endHandover(v *vip) {
	if v.target == nil {
		return
	}
	m.shift(v.target, -1)
	v.target = nil
	m.version++
}

// shift counts n more VIPs as under way from this node to target.
func (m *Machine) shift(target *member, n int) {
	target.pending += n
	target.planned += n
	m.me.pending -= n
	m.me.planned -= n
}

// failHandover ends a handover that came to nothing.
func (m *Machine) failHandover(v *vip) {
	m.effects.Transitions = append(m.effects.Transitions,
		Transition{v.addr, HandoverFailed, m.cfg.Self, v.target.name, v.handover.epoch})
	if v.rebalance {
		v.target.shunUntil = m.now + shunFor*m.cfg.RebalanceAfter
	} else {
		v.tried = append(v.tried, v.target)
	}
	m.endHandover(v)
}

// targetFor returns the best node to hand v to, or nil. One that doesn't hear us
// is none.
func (m *Machine) targetFor(v *vip, except []*member) *member {
	best := m.bestTier(v)
	if best == barred {
		return nil
	}
	var target *member
	for _, n := range m.members {
		if n == m.me || !n.hearsMe || tierOf(n, v) != best || slices.Contains(except, n) {
			continue
		}
		if target == nil || preferred(n, target, v) {
			target = n
		}
	}
	return target
}

// heardHandover takes in that p asks for v to be taken over.
func (m *Machine) heardHandover(p *member, h Handover) {
	v := m.know(h.Addr)
	if v == nil {
		return
	}
	v.heard = m.now
	if h.To != m.cfg.Self {
		v.highest = max(v.highest, h.Epoch)
		return
	}
	// Only from the owner, lest a late message brings back what is past. Not
	// while listening: after a pause this may be long out of date, and it is
	// repeated with every beat. Claims that the owner never heard may have made
	// this node know of higher epochs than it does.
	if v.wanted && v.owner == p && h.Epoch > v.epoch && m.now >= m.listenUntil && m.mayOwn(v) && !m.declines(v, p) {
		m.claim(v, max(h.Epoch, v.highest+1), TookOver, p.name)
	}
}

// declines reports whether a handover from p is better left alone: p may own v
// itself, so it asks for balance's sake, and some live peer would not hear of
// the new owner and claim v in its turn.
func (m *Machine) declines(v *vip, p *member) bool {
	return tierOf(p, v) == eligible && slices.ContainsFunc(m.members, func(n *member) bool {
		return n.alive && m.deaf(n) && tierOf(n, v) == eligible
	})
}

// letGo releases v and then looks at it like at any other.
func (m *Machine) letGo(v *vip) Time {
	m.release(v)
	m.me.planned--
	m.observe(v)
	return m.look(v)
}

// keep does what is due for a VIP that this node owns and returns when to look
// again.
func (m *Machine) keep(v *vip) Time {
	mine := tierOf(m.me, v)
	if refusalOf(m.me, v) == lb.InterfaceDown {
		return m.letGo(v)
	}
	if v.suspended {
		if m.now < m.listenUntil {
			return m.listenUntil
		}
		v.suspended = false
		m.tell(v)
		m.emit(v, Resumed, m.cfg.Self, m.cfg.Self)
	}
	must := !m.mayOwn(v)
	if v.target != nil {
		switch {
		case !must && !v.rebalance:
			m.endHandover(v) // no longer wanted
		case m.now < v.until && v.target.hearsMe && tierOf(v.target, v) <= min(mine, tolerated):
			return v.until
		default:
			m.failHandover(v)
		}
	}
	if !must {
		v.tried, v.retry = nil, 0
		return far
	}
	if m.now < v.retry {
		return v.retry
	}
	if target := m.targetFor(v, v.tried); target != nil {
		m.startHandover(v, target, false)
		return v.until
	}
	if mine == barred {
		return m.letGo(v)
	}
	if len(v.tried) == 0 {
		return far
	}
	v.tried, v.retry = nil, m.now+handoverPause*m.cfg.DeadTime
	return v.retry
}
