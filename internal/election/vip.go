package election

import (
	"net/netip"
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// vip is what is known of one address. Those that are not in the snapshot are
// remembered too, without an owner: for their epochs, and for who claims them.
type vip struct {
	addr    netip.Addr
	wanted  bool // in the snapshot
	refused map[string]lb.Refusal

	claims  []rival // of the others
	highest uint64  // epoch ever heard of, or used
	heard   Time    // when a claim was last heard

	owner    *member // nil for an orphan
	epoch    uint64  // of the owner
	since    Time
	orphaned Time // since when nobody claims it

	// What follows is of use while this node is the owner.
	generation uint64
	told       Time // when the generation last changed
	first      bool // nobody was ever known to own it before
	suspended  bool
	handover   // target is nil when there is none
}

// rival is a claim of another node.
type rival struct {
	by    *member
	epoch uint64
	at    Time // last heard
}

// stale reports whether the claimant has stopped saying so. A claimant that
// says nothing at all is for membership to judge: it knows whether this node
// has read everything there was to read.
func (r rival) stale(dead Time) bool { return r.by.heard-r.at >= dead }

// beats reports whether a claim of a with epoch ea wins against one of b.
func beats(a *member, ea uint64, b *member, eb uint64, addr netip.Addr) bool {
	return ea > eb || ea == eb && outranks(a, b, addr)
}

// know returns what is known of an address, or nil when too much is already.
func (m *Machine) know(a netip.Addr) *vip {
	v := m.known[a]
	if v == nil && len(m.known)-len(m.vips) < maxRemembered {
		v = &vip{addr: a, orphaned: m.now, told: never}
		m.known[a] = v
	}
	return v
}

// heardClaim takes in one claim of p.
func (m *Machine) heardClaim(p *member, c Claim) {
	v := m.know(c.Addr)
	if v == nil {
		return
	}
	i := slices.IndexFunc(v.claims, func(r rival) bool { return r.by == p })
	fresh := false
	switch {
	case i < 0:
		v.claims = append(v.claims, rival{p, c.Epoch, m.now})
		fresh = true
	case c.Epoch < v.claims[i].epoch && !v.claims[i].stale(m.cfg.DeadTime):
		return // overtaken on the way by a later beat of the same node
	default:
		fresh = c.Epoch != v.claims[i].epoch
		v.claims[i].epoch, v.claims[i].at = c.Epoch, m.now
	}
	v.heard = m.now
	v.highest = max(v.highest, c.Epoch)
	switch {
	case v.owner == m.me:
		m.contest(v, p, c.Epoch)
	case fresh && v.wanted:
		m.observe(v)
	}
}

// contest settles what happens when p claims what this node owns.
func (m *Machine) contest(v *vip, p *member, epoch uint64) {
	switch {
	case v.target != nil && epoch >= v.handover.epoch:
		m.giveUp(v, p, HandedOver)
	case m.deaf(p):
		m.giveUp(v, p, Yielded)
	case !beats(p, epoch, m.me, v.epoch, v.addr):
		// It will yield when it hears us. If it does not within a dead time it
		// may have told the network so meanwhile: tell it again.
		if !v.suspended && m.now-v.told >= m.cfg.DeadTime {
			m.defend(v)
		}
	case p.refusal == lb.HearsNobody && !m.cutOffNow() && !v.suspended:
		// It took the address because it was cut off from us: raise the epoch
		// instead of letting a returning node take everything along.
		m.endHandover(v)
		v.epoch = m.nextEpoch(v)
		v.highest = v.epoch
		m.defend(v)
		m.changed()
	default:
		m.giveUp(v, p, Yielded)
	}
}

// defend has the network told again that this node owns v.
func (m *Machine) defend(v *vip) {
	m.tell(v)
	m.emit(v, Contested, m.cfg.Self, m.cfg.Self)
	m.effects.SendNow = true
}

// tell gives v a new generation.
func (m *Machine) tell(v *vip) {
	v.generation++
	v.told = m.now
	m.version++
}

// nextEpoch returns the epoch of a new claim for v.
func (m *Machine) nextEpoch(v *vip) uint64 { return max(m.cfg.BootEpoch, v.highest+1) }

// claim makes this node the owner of v.
func (m *Machine) claim(v *vip, epoch uint64, why Change, from string) {
	v.first = v.highest == 0
	v.highest = max(v.highest, epoch)
	m.setOwner(v, m.me, epoch)
	m.tell(v)
	m.emit(v, why, from, m.cfg.Self)
	m.effects.SendNow = true
}

// giveUp hands v, which this node owns, to the node that claims it.
func (m *Machine) giveUp(v *vip, p *member, why Change) {
	m.disown(v)
	best, epoch := v.best(m.cfg.DeadTime)
	m.setOwner(v, best, epoch)
	m.emit(v, why, m.cfg.Self, best.name)
}

// release gives v up without anybody to take it.
func (m *Machine) release(v *vip) {
	m.disown(v)
	m.emit(v, Released, m.cfg.Self, "")
	m.setOwner(v, nil, 0)
}

// disown forgets what only an owner needs.
func (m *Machine) disown(v *vip) {
	m.endHandover(v)
	v.tried, v.retry = nil, 0
	v.suspended, v.first = false, false
}

// observe brings the owner of v, which is another node or nobody, in line with
// the claims.
func (m *Machine) observe(v *vip) {
	best, epoch := v.best(m.cfg.DeadTime)
	if best == v.owner && epoch == v.epoch {
		return
	}
	before := v.owner
	m.setOwner(v, best, epoch)
	if best != nil && best != before {
		from := ""
		if before != nil {
			from = before.name
		}
		m.emit(v, Observed, from, best.name)
	}
}

// best drops the stale claims of others and returns the winner of the rest.
func (v *vip) best(dead Time) (by *member, epoch uint64) {
	v.claims = slices.DeleteFunc(v.claims, func(r rival) bool { return r.stale(dead) })
	for _, r := range v.claims {
		if by == nil || beats(r.by, r.epoch, by, epoch, v.addr) {
			by, epoch = r.by, r.epoch
		}
	}
	return by, epoch
}

// setOwner records who owns v. The loads are counted here and nowhere else.
func (m *Machine) setOwner(v *vip, owner *member, epoch uint64) {
	if v.owner != nil {
		v.owner.load--
	}
	if owner != nil {
		owner.load++
	} else {
		v.orphaned = m.now
	}
	v.owner, v.epoch, v.since = owner, epoch, m.now
	m.version++
	m.wakeAt(m.now + m.cfg.DeadTime)
}

// emit reports a change of v at its present epoch.
func (m *Machine) emit(v *vip, why Change, from, to string) {
	m.effects.Transitions = append(m.effects.Transitions, Transition{v.addr, why, from, to, v.epoch})
}

// compareVIPs orders by address.
func compareVIPs(a, b *vip) int { return a.addr.Compare(b.addr) }
