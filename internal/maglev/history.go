package maglev

import "slices"

// Depth is how many previous endpoints a [Row] has room for.
const Depth = 3

// Row is where the flows of a row may be known, if not where the table says:
// eight bytes, as they are in the BPF map, in host byte order.
type Row struct {
	// Prev are positions in the endpoints of the present table, plus one:
	// distinct, newest first, then zeros.
	Prev [Depth]uint16
	// Stamp is that of the last update that added to the row. It is for the
	// caller to say what it counts: seconds, say, to tell whether a flow can
	// have been in its slot for a minute.
	Stamp uint16
}

// History is the table of a service port and what it was before. The zero value
// is the state before the first table. Histories are values: none of the
// slices is written to once it is in one.
//
// A hash finds its row as it finds its slot, by [SlotOf], but the number of
// rows is that of the largest table since the history was last empty. If it
// shrank with the table, several slots would have to share a row, with no room
// for what they all had. A row that lies across the edge of two slots has
// what either of them had.
type History struct {
	Table Table
	// Rows is nil as long as every endpoint that a flow can be known to is
	// where the table says.
	Rows []Row
}

// Update returns the history after next takes the place of h's table. In each
// row, what the table said and no longer says comes first, then what was in
// the row; without those endpoints that next doesn't list any more.
func (h History) Update(next Table, stamp uint16) History {
	u := update{
		History: h,
		next:    next.Slots,
		index:   renumber(h.Table.Endpoints, next.Endpoints),
		stamp:   stamp,
	}
	rows := make([]Row, max(len(h.Rows), len(h.Table.Slots), len(next.Slots)))
	empty := true
	for i := range rows {
		rows[i] = u.row(edge(i, len(rows)), edge(i+1, len(rows)))
		empty = empty && rows[i].Prev[0] == 0
	}
	if empty {
		rows = nil
	}
	return History{Table: next, Rows: rows}
}

// update is a call of [History.Update].
type update struct {
	History          // before
	next    []uint16 // the slots that follow
	index   []uint16 // new indexes by old ones
	stamp   uint16
}

// row returns the new row for the hashes whose upper half is in [from, to).
func (u *update) row(from, to uint64) Row {
	var r Row
	moved := false
	now, same := uint16(0), true // where the flows are now, if it is the same for all
	for x := from; x < to; {
		was, wasEnd := lookup(u.Table.Slots, x)
		is, isEnd := lookup(u.next, x)
		if was = u.renumbered(was); was != is && was != 0 {
			r.add(was)
			moved = true
		}
		same = same && (x == from || is == now)
		now = is
		x = min(wasEnd, isEnd)
	}
	if len(u.Rows) > 0 {
		first, last := SlotOf(from<<32, len(u.Rows)), SlotOf((to-1)<<32, len(u.Rows))
		for depth := range Depth {
			for _, old := range u.Rows[first : last+1] {
				if e := u.renumbered(old.Prev[depth]); !same || e != now {
					r.add(e)
				}
			}
		}
		r.Stamp = u.Rows[first].Stamp
	}
	if moved {
		r.Stamp = u.stamp
	}
	return r
}

// renumbered is the new index for an old one, 0 if its endpoint is gone. What
// was read back from a map may be anything.
func (u *update) renumbered(e uint16) uint16 {
	if int(e) >= len(u.index) {
		return 0
	}
	return u.index[e]
}

// add appends the endpoint if it is one, is not there, and there is room.
func (r *Row) add(e uint16) {
	if e == 0 || slices.Contains(r.Prev[:], e) {
		return
	}
	if i := slices.Index(r.Prev[:], 0); i >= 0 {
		r.Prev[i] = e
	}
}
