package election

import (
	"cmp"
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Beat returns what this node's next heartbeat says. The claims are sorted by
// address; sending them in that order keeps the nodes' placements alike.
func (m *Machine) Beat() Beat {
	b := Beat{Refusal: m.me.refusal}
	if b.Refusal == lb.Eligible && m.cutOffNow() {
		b.Refusal = lb.HearsNobody
	}
	b.Claims = make([]Claim, 0, m.me.load)
	for _, v := range m.vips {
		if v.owner != m.me {
			continue
		}
		b.Claims = append(b.Claims, Claim{v.addr, v.epoch})
		if v.target != nil {
			b.Handovers = append(b.Handovers, Handover{v.addr, v.handover.epoch, v.target.name})
		}
	}
	return b
}

// Take returns the effects since the last Take.
func (m *Machine) Take() Effects {
	e := m.effects
	m.effects = Effects{}
	return e
}

// Version changes whenever the View would differ in more than the order of
// candidates.
func (m *Machine) Version() uint64 { return m.version }

// View returns how things stand, sorted by address.
func (m *Machine) View() []Ownership {
	view := make([]Ownership, len(m.vips))
	for i, v := range m.vips {
		o := Ownership{
			Addr:       v.addr,
			State:      m.state(v),
			Epoch:      v.epoch,
			Since:      v.since,
			Generation: v.generation,
			First:      v.first,
			Candidates: m.candidates(v),
		}
		if v.owner != nil {
			o.Owner = v.owner.name
		}
		view[i] = o
	}
	return view
}

// state derives how this node stands to v.
func (m *Machine) state(v *vip) State {
	switch {
	case v.owner == nil:
		return Orphan
	case v.owner != m.me:
		return Standby
	case v.suspended:
		return Suspended
	case v.target != nil:
		return HandingOver
	}
	return Owner
}

// candidates returns every known node, best first for v were it an orphan.
func (m *Machine) candidates(v *vip) []Candidate {
	order := slices.SortedStableFunc(slices.Values(m.members), func(a, b *member) int {
		return cmp.Or(cmp.Compare(tierOf(a, v), tierOf(b, v)), cmp.Compare(a.load, b.load),
			cmp.Compare(rank(b.seed, v.addr), rank(a.seed, v.addr)))
	})
	list := make([]Candidate, len(order))
	for i, n := range order {
		r := refusalOf(n, v)
		if n == m.me && r == lb.Eligible && m.cutOff && m.alone() && len(m.members) > 1 {
			r = lb.HearsNobody
		}
		list[i] = Candidate{Node: n.name, Alive: n.alive, Refusal: r}
	}
	return list
}

// Drained reports whether this node is draining and nothing is left that could
// be handed to anybody.
func (m *Machine) Drained() bool {
	return m.me.refusal == lb.Draining && !slices.ContainsFunc(m.vips, func(v *vip) bool {
		return v.owner == m.me && !m.mayOwn(v) && m.targetFor(v, nil) != nil
	})
}
