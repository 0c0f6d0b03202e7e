package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// takeStatuses keeps what the announcer says of each entry. It logs that itself.
func (a *Agent) takeStatuses() {
	clear(a.statuses)
	for _, st := range a.parts.Announcer.Status() {
		a.statuses[statusKey{st.Interface, st.Addr}] = st
	}
}

// status builds the view for people. It runs in the loop.
func (a *Agent) status(now time.Time) Status {
	s := Status{
		Node: a.cfg.Node, Counters: a.parts.Metrics.Map(), Draining: a.draining,
		Members: []MemberStatus{}, VIPs: []VIPStatus{}, Services: []ServiceStatus{},
		Interfaces: []InterfaceStatus{}, Problems: []string{},
	}
	if err := a.parts.Source.Err(); err != nil {
		s.SourceError = err.Error()
	}
	for _, seg := range a.segments {
		s.Members = append(s.Members, a.memberRows(seg, now)...)
		s.VIPs = append(s.VIPs, a.vipRows(seg)...)
	}
	if a.snap == nil {
		return s
	}
	problems := append(slices.Clone(a.snap.Problems), a.unusable...)
	s.VIPs = append(s.VIPs, refusedRows(problems, a.vips, a.segments)...)
	slices.SortStableFunc(s.VIPs, func(x, y VIPStatus) int {
		ax, _ := netip.ParseAddr(x.Address)
		ay, _ := netip.ParseAddr(y.Address)
		return ax.Compare(ay)
	})
	for _, svc := range a.snap.Services {
		s.Services = append(s.Services, a.serviceRows(svc)...)
	}
	for _, c := range a.choices {
		row := InterfaceStatus{Name: c.Name, State: "unused", Reason: c.Reason.String()}
		if i, ok := a.ifaces.ByName(c.Name); ok {
			row.MAC = i.MAC.String()
		}
		if _, ok := a.findSegment(c.Name); ok {
			row.State = "announcing"
		}
		s.Interfaces = append(s.Interfaces, row)
	}
	for _, p := range problems {
		s.Problems = append(s.Problems, p.String())
	}
	return s
}

func (a *Agent) memberRows(seg *segment, now time.Time) []MemberStatus {
	rows := []MemberStatus{{
		Node: a.cfg.Node, Alive: true, Self: true, HearsUs: true,
		MAC: seg.iface.MAC.String(), Interface: seg.name,
	}}
	if r := a.selfRefusal(seg); r != lb.Eligible {
		rows[0].Reason = r.String()
	}
	for f := range announce.Families {
		if why := a.parts.Announcer.Trouble(seg.name, announce.Family(f)); why != "" {
			rows[0].Reason = why
		}
	}
	alive, mute := 0, 0
	heard := make(map[string]time.Time) // by node; what is alive was heard since
	for _, l := range a.parts.Members.Links() {
		if l.Link.Name == seg.name {
			for _, p := range l.Peers {
				heard[p.Node] = p.LastHeard
			}
		}
	}
	for _, name := range seg.peerNames() {
		p := seg.peers[name]
		last := p.LastHeard
		if t, ok := heard[name]; ok {
			last = t
		}
		row := MemberStatus{
			Node: name, Alive: p.alive, MAC: p.MAC.String(), Interface: seg.name,
			LastSeenMs: now.Sub(last).Milliseconds(), HearsUs: p.alive && p.HearsUs,
		}
		switch {
		case !p.alive:
			row.Reason = "silent"
		case !p.HearsUs:
			row.Reason = "does_not_hear_us"
			mute++
			alive++
		case unknown(a.snap, name):
			row.Reason = lb.UnknownNode.String()
			alive++
		default:
			alive++
		}
		rows = append(rows, row)
	}
	switch {
	case rows[0].Reason != "":
	case alive == 0 && len(a.snap.Nodes) > 1:
		rows[0].Reason = "hears_nobody"
	case alive > 0 && mute == alive:
		rows[0].Reason = "nobody_hears_us"
	}
	return rows
}

// vipRows are the VIPs that the segment's election knows.
func (a *Agent) vipRows(seg *segment) []VIPStatus {
	services := make(map[netip.Addr][]string)
	for _, v := range a.vips {
		for _, n := range v.Services {
			services[v.Addr] = append(services[v.Addr], n.String())
		}
	}
	now := a.now()
	var rows []VIPStatus
	for _, o := range seg.machine.View() {
		row := VIPStatus{
			Address: o.Addr.String(), Owner: o.Owner, Epoch: o.Epoch, Interface: seg.name,
			Services: services[o.Addr], SinceMs: (now - o.Since).Milliseconds(),
		}
		if p := seg.peers[o.Owner]; p != nil {
			row.MAC = p.MAC.String()
		} else if o.Owner == a.cfg.Node {
			row.MAC = seg.iface.MAC.String()
		}
		row.State, row.Reason = a.vipState(seg, o)
		for _, c := range o.Candidates {
			row.Candidates = append(row.Candidates, CandidateStatus{Node: c.Node, Alive: c.Alive, Reason: c.Refusal.String()})
		}
		rows = append(rows, row)
	}
	return rows
}

// vipState puts the election's and the announcer's words for a VIP together:
// the state is the announcer's where this node owns the address and the
// network doesn't get what the election decided.
func (a *Agent) vipState(seg *segment, o election.Ownership) (state, reason string) {
	state = o.State.String()
	if t, ok := seg.last[o.Addr]; ok {
		reason = t.Change.String()
		if t.From != "" && t.From != t.To {
			reason += " from " + t.From
		}
	}
	if o.State == election.Orphan {
		return state, orphanReason(o)
	}
	if !o.State.Answers() {
		return state, reason
	}
	st, ok := a.statuses[statusKey{seg.name, o.Addr}]
	switch {
	case !ok || st.State == announce.Announcing:
		return state, reason
	case st.State == announce.Conflict || st.State == announce.Contested:
		return st.State.String(), "address in use by " + st.Stranger.String()
	case st.Err != "":
		return st.State.String(), st.Err
	}
	return st.State.String(), reason
}

// orphanReason says why nobody owns an address.
func orphanReason(o election.Ownership) string {
	var why []string
	for _, c := range o.Candidates {
		if c.Alive {
			if c.Refusal == lb.Eligible {
				return "waiting for a candidate to claim it"
			}
			why = append(why, c.Node+" "+c.Refusal.String())
		}
	}
	if len(why) == 0 {
		return "no candidate is alive"
	}
	return "no candidate: " + strings.Join(why, ", ")
}

// refusedRows are the addresses that are not announced at all: those that a
// problem took away, and those that no Announcement lets any interface here
// announce.
func refusedRows(problems []lb.Problem, vips []lb.VIP, segments []*segment) []VIPStatus {
	var rows []VIPStatus
	served := make(map[netip.Addr]bool)
	for _, v := range vips {
		served[v.Addr] = true
		on := false
		for _, s := range segments {
			on = on || onSegment(v, segmentFacts{Interface: s.name, Automatic: s.automatic})
		}
		if !on {
			reason := lb.NoRule.String()
			if len(segments) == 0 {
				reason = "no interface to announce on"
			}
			rows = append(rows, VIPStatus{Address: v.Addr.String(), State: "refused", Reason: reason})
		}
	}
	for _, p := range problems {
		if p.Addr.IsValid() && !p.Warning && !served[p.Addr] {
			served[p.Addr] = true
			rows = append(rows, VIPStatus{
				Address: p.Addr.String(), State: "refused", Reason: fmt.Sprintf("%s: %s: %s", p.Kind, p.Object, p.Message),
			})
		}
	}
	return rows
}

func (a *Agent) serviceRows(svc lb.Service) []ServiceStatus {
	var rows []ServiceStatus
	for _, addr := range svc.Addresses {
		for _, p := range svc.Ports {
			row := ServiceStatus{
				Name: svc.Name.String(), Address: addr.String(), Port: p.Port, Protocol: p.Protocol.String(),
				Forwarding: a.cfg.Forwarding.String(), Endpoints: []string{},
			}
			for _, e := range p.Active() {
				if e.Addr.Addr().Is4() == addr.Is4() {
					row.Endpoints = append(row.Endpoints, e.Addr.String())
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
