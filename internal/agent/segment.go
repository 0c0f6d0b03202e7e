package agent

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
)

// rememberPeer is how long a lost member is still listed, and its MAC still
// not a stranger's.
const rememberPeer = 10 * time.Minute

// segment is what the agent knows of one announcing interface and the nodes
// behind it.
type segment struct {
	name      string
	iface     link.Interface
	automatic bool // chosen without an Announcement naming it
	machine   *election.Machine
	peers     map[string]*peer
	// applied is the machine's version that the drivers were last told of.
	applied uint64
	dirty   bool
	// schedules has the gratuitous schedules of VIPs whose rules set one.
	schedules map[netip.Addr]lb.Gratuitous
	// holds are the families that have a VIP on the segment, trouble those that
	// can't be announced.
	holds, trouble [announce.Families]bool
	// last is the latest transition of each VIP, for `status`.
	last map[netip.Addr]election.Transition
}

// peer is a member as heard on the segment.
type peer struct {
	membership.Peer
	alive bool
}

// hear records a membership event and passes it to the election.
func (s *segment) hear(now election.Time, ev membership.Event) (newNode bool) {
	p := s.peers[ev.Peer.Node]
	if p == nil {
		p = &peer{}
		s.peers[ev.Peer.Node] = p
		newNode = true
	}
	if p.MAC != ev.Peer.MAC {
		s.dirty = true // the announcer must know members' MACs
	}
	p.Peer, p.alive = ev.Peer, !ev.Lost
	if ev.Lost {
		s.machine.Lost(now, ev.Peer.Node)
	} else {
		s.machine.Heard(now, ev.Peer.Node, ev.Peer.HearsUs, ev.Beat)
	}
	return newNode
}

// forget drops members that have been silent for long.
func (s *segment) forget(now time.Time) {
	for name, p := range s.peers {
		if !p.alive && now.Sub(p.LastHeard) > rememberPeer {
			delete(s.peers, name)
			s.dirty = true
		}
	}
}

// peerNames returns the members' names, sorted.
func (s *segment) peerNames() []string {
	names := make([]string, 0, len(s.peers))
	for name := range s.peers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// desired is what the segment's view means for the announcer. own are the MACs
// of all announcing interfaces of this node: two of them on one segment are no
// strangers to each other. It is pure.
func (s *segment) desired(own []lb.MAC) announce.Link {
	l := announce.Link{
		Name: s.name, Index: s.iface.Index, MAC: s.iface.MAC, Up: s.iface.Usable(),
		Members: append([]lb.MAC{s.iface.MAC}, own...), Hold: s.holds,
	}
	for _, p := range s.peers {
		l.Members = append(l.Members, p.MAC)
	}
	slices.SortFunc(l.Members, func(a, b lb.MAC) int { return strings.Compare(string(a[:]), string(b[:])) })
	l.Members = slices.Compact(l.Members)
	for _, o := range s.machine.View() {
		if o.State.Answers() {
			l.Entries = append(l.Entries, announce.Entry{
				Addr: o.Addr, Generation: o.Generation, Probe: o.First, Schedule: s.schedules[o.Addr],
			})
		}
	}
	return l
}

// owned counts the VIPs that this node owns on the segment.
func (s *segment) owned() int {
	n := 0
	for _, o := range s.machine.View() {
		if o.State.Answers() {
			n++
		}
	}
	return n
}
