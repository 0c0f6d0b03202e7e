package membership

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// Bounds of what a roster remembers.
const (
	maxMembers   = 1024 // names
	maxInstances = 8    // per name
	maxCached    = 64   // parts of a heartbeat per instance
)

// self is what a process calls itself.
type self struct {
	node     string
	instance uint64
	started  uint64 // ns since 1970
}

// roster is who is heard on one link. It is pure: authenticated datagrams and
// the time go in, events come out.
//
// A node's name belongs to one instance of it, the holder, for as long as that
// is heard. A newer instance (a restart) gets the name as soon as the holder
// has missed a beat; while both are heard, the holder keeps it and the other's
// words are dropped: two machines of one name are never merged. The sequence
// numbers of the last few instances of each name are remembered beyond their
// death, so that a recording doesn't raise them.
type roster struct {
	self     self
	ifname   string
	interval time.Duration
	dead     time.Duration
	members  map[string]*member
	// changed is set whenever the list of holders changes, for the caller to clear.
	changed bool
}

// member is a name and the instances that it was heard from.
type member struct {
	node   string
	known  []*instance
	holder *instance // heard within the dead time, or nil
}

// instance is one start of a node's agent.
type instance struct {
	id, started uint64
	window      window
	first, last time.Time // heard
	heardUs     time.Time // last said so
	peer        Peer
	cache       []cachedBeat // by part
}

// cachedBeat is a beat and the bytes that it was decoded from: most heartbeats
// repeat the one before.
type cachedBeat struct {
	body              []byte
	groups, handovers int
	beat              election.Beat
}

func newRoster(me self, ifname string, interval, dead time.Duration) *roster {
	return &roster{self: me, ifname: ifname, interval: interval, dead: dead, members: make(map[string]*member)}
}

// hear takes an authenticated datagram into account and appends what it means
// to out: nothing if it is dropped; else that the peer was heard, and before
// that the loss of the instance whose name it takes over.
func (r *roster) hear(now time.Time, d *datagram, from netip.Addr, out []Event) ([]Event, Drop) {
	switch {
	case d.instance == r.self.instance:
		return out, Own
	case string(d.node) == r.self.node:
		return out, DuplicateNode
	}
	m := r.members[string(d.node)]
	in := m.find(d.instance)
	beat, said, ok := in.decode(d)
	if !ok {
		return out, Malformed
	}
	if m == nil {
		if m = r.enrol(string(d.node)); m == nil {
			return out, TooManyNodes
		}
	}
	known := in != nil
	if !known {
		in = m.remember(&instance{id: d.instance, started: d.started, first: now})
	}
	if !in.window.admit(d.sequence) {
		return out, Replayed
	}
	if drop := r.judge(now, m, in, known); drop != NotDropped {
		return out, drop
	}
	if m.holder != in {
		if m.holder != nil {
			out = append(out, m.holder.lost())
		}
		m.holder, r.changed = in, true
	}
	was := in.peer
	if now.After(in.last) { // datagrams overtake each other
		in.last = now
	}
	in.store(d, beat)
	if d.hears(r.self.instance) {
		in.heardUs = now
	}
	in.peer = Peer{
		Node: m.node, Instance: in.id, Interface: r.ifname, MAC: d.mac, Addr: from, LastHeard: now,
		// A long list is spread over several datagrams: one that doesn't name us
		// says nothing, a dead time without any that does says it all.
		HearsUs: !in.heardUs.IsZero() && now.Sub(in.heardUs) < r.dead,
	}
	again := said && was.MAC == in.peer.MAC && was.Addr == in.peer.Addr && was.HearsUs == in.peer.HearsUs
	return append(out, Event{Peer: in.peer, Beat: beat, again: again}), NotDropped
}

// judge decides whether an instance of m whose datagram is fresh may have the
// name. known is false when it is the first that was heard of the instance.
func (r *roster) judge(now time.Time, m *member, in *instance, known bool) Drop {
	h := m.holder
	if h == nil || h == in {
		return NotDropped
	}
	newer := cmp.Or(cmp.Compare(in.started, h.started), cmp.Compare(in.id, h.id)) > 0
	switch {
	case newer && now.Sub(h.last) >= 2*r.interval:
		return NotDropped
	case newer && h.last.After(in.first):
		return DuplicateNode
	case newer:
		return Restarting
	case known: // and goes on counting: it is alive
		return DuplicateNode
	}
	return Replayed
}

// excuse takes a time in which this process did not run off everybody's
// silence: who spoke then was not heard, and on a machine that stood still
// nobody spoke.
func (r *roster) excuse(now time.Time, d time.Duration) {
	for _, m := range r.members {
		if h := m.holder; h != nil {
			h.last = earlier(h.last.Add(d), now)
			if !h.heardUs.IsZero() {
				h.heardUs = earlier(h.heardUs.Add(d), now)
			}
		}
	}
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// expire appends the loss of each holder that has been silent for the dead
// time.
func (r *roster) expire(now time.Time, out []Event) []Event {
	return r.lose(out, func(in *instance) bool { return now.Sub(in.last) >= r.dead })
}

// clear appends the loss of all holders.
func (r *roster) clear(out []Event) []Event {
	return r.lose(out, func(*instance) bool { return true })
}

func (r *roster) lose(out []Event, lost func(*instance) bool) []Event {
	n := len(out)
	for _, m := range r.members {
		if m.holder != nil && lost(m.holder) {
			out = append(out, m.holder.lost())
			m.holder, r.changed = nil, true
		}
	}
	slices.SortFunc(out[n:], func(a, b Event) int { return cmp.Compare(a.Peer.Node, b.Peer.Node) })
	return out
}

// next returns when the first holder's silence will be judged if nothing more
// is heard, or the zero time when there is none.
func (r *roster) next() time.Time {
	var first time.Time
	for _, m := range r.members {
		if m.holder != nil && (first.IsZero() || m.holder.last.Before(first)) {
			first = m.holder.last
		}
	}
	if first.IsZero() {
		return first
	}
	return first.Add(r.dead)
}

// heard appends the truncated instances of the holders in a stable order.
func (r *roster) heard(dst []uint32) []uint32 {
	for _, m := range r.members {
		if m.holder != nil {
			dst = append(dst, uint32(m.holder.id))
		}
	}
	slices.Sort(dst)
	return dst
}

// peers returns the holders, sorted by name.
func (r *roster) peers() []Peer {
	var out []Peer
	for _, m := range r.members {
		if m.holder != nil {
			out = append(out, m.holder.peer)
		}
	}
	slices.SortFunc(out, func(a, b Peer) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// enrol adds a name, in the place of the one that has been silent for longest
// when there are too many. It returns nil when all of them are heard.
func (r *roster) enrol(node string) *member {
	if len(r.members) >= maxMembers {
		var oldest *member
		for _, m := range r.members {
			if m.holder == nil && (oldest == nil || m.last().Before(oldest.last())) {
				oldest = m
			}
		}
		if oldest == nil {
			return nil
		}
		delete(r.members, oldest.node)
	}
	m := &member{node: node}
	r.members[node] = m
	return m
}

// last is when any instance of m was heard last.
func (m *member) last() time.Time {
	var t time.Time
	for _, in := range m.known {
		if in.last.After(t) {
			t = in.last
		}
	}
	return t
}

// find returns what is known of an instance. Both m and the result may be nil.
func (m *member) find(id uint64) *instance {
	if m == nil {
		return nil
	}
	for _, in := range m.known {
		if in.id == id {
			return in
		}
	}
	return nil
}

// remember adds an instance, in the place of the one that has been silent for
// longest when there are too many.
func (m *member) remember(in *instance) *instance {
	if len(m.known) >= maxInstances {
		oldest := -1
		for n, k := range m.known {
			if k != m.holder && (oldest < 0 || k.last.Before(m.known[oldest].last)) {
				oldest = n
			}
		}
		m.known = slices.Delete(m.known, oldest, oldest+1)
	}
	m.known = append(m.known, in)
	return in
}

// lost is the event of an instance's loss.
func (in *instance) lost() Event {
	in.cache = nil
	return Event{Peer: in.peer, Lost: true}
}

// decode returns the beat of d, and whether it was said before: then it is the
// one decoded before. The instance may be nil.
func (in *instance) decode(d *datagram) (beat election.Beat, said, ok bool) {
	if in != nil && int(d.part) < len(in.cache) {
		c := &in.cache[d.part]
		if c.groups == d.groups && c.handovers == d.handovers && bytes.Equal(c.body, d.body) {
			beat = c.beat
			beat.Refusal = d.refusal
			return beat, c.beat.Refusal == d.refusal, true
		}
	}
	beat, ok = d.beat()
	return beat, false, ok
}

// store keeps a beat for decode.
func (in *instance) store(d *datagram, beat election.Beat) {
	parts := min(int(d.parts), maxCached)
	if len(in.cache) != parts {
		in.cache = slices.Grow(in.cache[:min(len(in.cache), parts)], parts)[:parts]
	}
	if int(d.part) >= parts {
		return
	}
	c := &in.cache[d.part]
	c.groups, c.handovers, c.beat = d.groups, d.handovers, beat
	if !bytes.Equal(c.body, d.body) {
		c.body = append(c.body[:0], d.body...)
	}
}
