package maglev

import "slices"

// unit is the time between two turns of a member of weight 1. A table has less
// than 2¹⁸ turns, so that no time overflows.
const unit = 1 << 46

// step is the time between two turns of a member of that weight.
func step(weight uint16) uint64 { return unit / uint64(weight) }

// turns hands out turns in the order in which they are due.
//
// Members of one weight keep the order that they begin with, so that only the
// next turns of the weights need comparing. Mostly there is one weight, and
// taking turns costs nothing.
type turns struct {
	members []member // by weight, then by phase
	classes []class  // a heap: the first one is next
}

// class is the members of one weight.
type class struct {
	from, to int    // in turns.members
	at       int    // whose turn is next
	step     uint64 // from one turn of a member to its next
	lap      uint64 // what the members' turns until now add to their phase
	due      uint64 // when the next turn is due
	index    uint16 // whose turn that is
}

// start sorts the members and begins with their first turns.
func (t *turns) start(members []member) {
	slices.SortFunc(members, member.compare)
	t.members = members
	t.classes = t.classes[:0]
	for i, m := range members {
		if i == 0 || m.weight != members[i-1].weight {
			t.classes = append(t.classes, class{from: i, at: i, step: step(m.weight), due: m.phase, index: m.index})
		}
		t.classes[len(t.classes)-1].to = i + 1
	}
	for i := len(t.classes)/2 - 1; i >= 0; i-- {
		t.sink(i)
	}
}

// next is the member whose turn it is.
func (t *turns) next() *member {
	c := &t.classes[0]
	m := &t.members[c.at]
	if c.at++; c.at == c.to {
		c.at = c.from
		c.lap += c.step
	}
	following := &t.members[c.at]
	c.due, c.index = c.lap+following.phase, following.index
	t.sink(0)
	return m
}

// before reports whether the next turn of c comes before that of d.
func (c *class) before(d *class) bool {
	return c.due < d.due || c.due == d.due && c.index < d.index
}

// sink moves the class at i down the heap to where it belongs.
func (t *turns) sink(i int) {
	h := t.classes
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if second := first + 1; second < len(h) && h[second].before(&h[first]) {
			first = second
		}
		if !h[first].before(&h[i]) {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}
