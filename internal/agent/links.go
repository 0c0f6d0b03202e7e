package agent

import (
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
)

// updateLink tells a segment how its interface is now.
func (a *Agent) updateLink(s *segment) {
	was := s.iface
	s.iface, _ = a.ifaces.ByName(s.name)
	if was.Index == s.iface.Index && was.MAC == s.iface.MAC && was.Usable() == s.iface.Usable() {
		return
	}
	s.dirty = true
	if was.Index != s.iface.Index {
		// Made anew: what was said and heard through the old one is past, even if
		// its absence was too short to be seen.
		s.machine.SetSelf(a.now(), lb.InterfaceDown)
	}
	if was.Usable() != s.iface.Usable() {
		a.log.Info("interface changed", "interface", s.name, "usable", s.iface.Usable(), "mac", s.iface.MAC)
	}
	s.machine.SetSelf(a.now(), a.selfRefusal(s))
}

// selfRefusal is why this node is no candidate on a segment by its own word.
func (a *Agent) selfRefusal(s *segment) lb.Refusal {
	switch {
	case !s.iface.Usable():
		return lb.InterfaceDown
	case a.draining:
		return lb.Draining
	}
	return lb.Eligible
}

// setMembershipLinks has heartbeats go through the usable interfaces.
func (a *Agent) setMembershipLinks() {
	node, _ := a.snap.Node(a.cfg.Node)
	var links []membership.Link
	for _, s := range a.segments {
		if !s.iface.Usable() {
			continue
		}
		links = append(links, membership.Link{
			Name: s.name, Index: s.iface.Index, MAC: s.iface.MAC, MTU: s.iface.MTU,
			Addr: heartbeatAddr(s.iface, node.Addresses),
		})
	}
	if err := a.parts.Members.Set(links); err != nil {
		a.log.Warn("heartbeats are incomplete", "err", err)
	}
}

// heartbeatAddr is the address to send heartbeats from: one of the node's own
// if the interface has it, else any of the interface's, IPv4 first so that all
// nodes of a dual-stack segment choose the same family.
func heartbeatAddr(i link.Interface, own []netip.Addr) netip.Addr {
	var best netip.Addr
	score := func(x netip.Addr) int {
		n := 0
		for _, o := range own {
			if o == x {
				n += 2
			}
		}
		if x.Is4() {
			n++
		}
		return n
	}
	for _, p := range i.Addrs {
		x := p.Addr()
		if x.IsLoopback() {
			continue
		}
		if !best.IsValid() || score(x) > score(best) {
			best = x
		}
	}
	return best
}
