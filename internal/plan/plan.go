package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// Plan returns the state that follows prev, which may be nil, on the node that
// f is about. It depends on its arguments alone. Nodes with the same snapshot
// and owners have the same tables; numbers and histories are each node's own.
func Plan(s *lb.Snapshot, f Facts, prev *State) *State {
	if prev == nil {
		prev = &State{}
	}
	p := planner{
		snapshot: s,
		facts:    f,
		prev:     prev,
		builder:  maglev.NewBuilder(f.Seed),
		next:     &State{Seed: f.Seed, MACs: slices.Clone(f.MACs), IDs: prev.IDs},
		nodeIDs:  make(map[string]NodeID),
	}
	p.nodes()
	p.services()
	p.vips()
	for i := range p.next.Services {
		p.number(&p.next.Services[i])
	}
	slices.SortFunc(p.next.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Object, b.Object), strings.Compare(a.Detail, b.Detail))
	})
	p.next.Problems = slices.Compact(p.next.Problems) // a service has them on each of its VIPs
	return p.next
}

// planner is a call of [Plan].
type planner struct {
	snapshot *lb.Snapshot
	facts    Facts
	prev     *State
	next     *State
	builder  *maglev.Builder
	nodeIDs  map[string]NodeID
}

func (p *planner) problem(kind ProblemKind, object, detail string) {
	p.next.Problems = append(p.next.Problems, Problem{kind, object, detail})
}

// nodes plans the ways to all nodes that the snapshot or the facts know of.
func (p *planner) nodes() {
	peers := make(map[string]Peer)
	for _, n := range p.snapshot.Nodes {
		peers[n.Name] = Peer{Name: n.Name, Addrs: n.Addresses, Mode: ModeNone}
	}
	for _, peer := range p.facts.Peers {
		if len(peer.Addrs) == 0 {
			peer.Addrs = peers[peer.Name].Addrs
		}
		peers[peer.Name] = peer
	}
	if len(p.facts.Addrs) == 0 {
		p.facts.Addrs = peers[p.facts.Self].Addrs
	}
	peers[p.facts.Self] = Peer{Name: p.facts.Self, Addrs: p.facts.Addrs}

	numbers := make(map[string]NodeID)
	for _, n := range p.prev.Nodes {
		numbers[n.Name] = n.ID
	}
	for _, peer := range peers {
		p.next.Nodes = append(p.next.Nodes, p.node(peer))
	}
	slices.SortFunc(p.next.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range p.next.Nodes {
		n := &p.next.Nodes[i]
		if n.ID = numbers[n.Name]; n.ID == 0 {
			p.next.IDs.Node++
			n.ID = p.next.IDs.Node
		}
		p.nodeIDs[n.Name] = n.ID
		if n.Mode == ModeDSCP && !n.OnSegment {
			p.next.Routers = slices.Clone(p.facts.Routers)
		}
	}
	p.next.Self = p.nodeIDs[p.facts.Self]
}

// node plans the way to one node, without its number.
func (p *planner) node(peer Peer) Node {
	n := Node{Name: peer.Name, Mode: peer.Mode, MAC: peer.MAC, OnSegment: peer.SameSegment && !peer.MAC.IsZero(),
		Addrs: slices.Clone(peer.Addrs), MTU: cmp.Or(peer.MTU, defaultMTU)}
	if n.Name == p.facts.Self {
		n.Mode, n.MAC, n.OnSegment = ModeLocal, lb.MAC{}, false
		return n
	}
	switch {
	case n.Mode == ModeAuto && n.OnSegment:
		n.Mode = ModeL2
	case n.Mode == ModeAuto:
		n.Mode = ModeGUE
	case n.Mode == ModeL2 && !n.OnSegment:
		p.problem(ModeImpossible, "node "+n.Name, "l2 towards another segment, gue instead")
		n.Mode = ModeGUE
	}
	switch {
	case n.Mode == ModeNone:
	case n.MAC.IsZero(), n.Mode != ModeL2 && !p.common(n.Addrs):
		p.problem(NodeUnreachable, "node "+n.Name, n.Mode.String())
		n.Mode = ModeNone
	}
	return n
}

// common puts an address first that is of a family that this node has as well,
// and reports whether there is one.
func (p *planner) common(addrs []netip.Addr) bool {
	i := slices.IndexFunc(addrs, func(a netip.Addr) bool {
		_, ok := addressed(p.facts.Addrs, a)
		return ok
	})
	if i > 0 {
		addrs[0], addrs[i] = addrs[i], addrs[0]
	}
	return i >= 0
}

// services plans the ports of all services on the VIPs to serve.
func (p *planner) services() {
	owners := make(map[netip.Addr]string)
	for _, v := range p.facts.VIPs {
		if InMarkSpace(v.Addr) {
			p.problem(VIPReserved, "vip "+v.Addr.String(), "")
			continue
		}
		owners[v.Addr] = cmp.Or(v.Owner, p.facts.Self)
	}
	before := make(map[key]*Service)
	for i := range p.prev.Services {
		before[p.prev.Services[i].key()] = &p.prev.Services[i]
	}
	for i := range p.snapshot.Services {
		svc := &p.snapshot.Services[i]
		for _, addr := range svc.Addresses {
			owner, served := owners[addr]
			if !served {
				continue
			}
			for _, port := range svc.Ports {
				prev := before[key{addr, port.Protocol, port.Port}]
				if prev == nil {
					prev = &Service{}
				}
				p.next.Services = append(p.next.Services, p.service(svc, port, addr, owner, prev))
			}
		}
	}
	slices.SortFunc(p.next.Services, func(a, b Service) int { return a.key().compare(b.key()) })
}

// service plans one port on one VIP, without new numbers.
func (p *planner) service(svc *lb.Service, port lb.ServicePort, vip netip.Addr, owner string, prev *Service) Service {
	s := Service{ID: prev.ID, Name: svc.Name, VIP: vip, Port: port.Port, Protocol: port.Protocol}
	if cmp.Or(svc.Forwarding, p.facts.Forwarding) == lb.ForwardingKubeProxy {
		s.Flags |= PassUp
		return s
	}
	if svc.AffinityTimeout > 0 {
		s.Flags |= Affinity
		s.AffinityTimeout = svc.AffinityTimeout
	}
	if svc.LocalOnly {
		s.Flags |= LocalOnly
	}
	if svc.Restricted {
		s.Flags |= Restricted
		s.Sources = sources(svc.SourceRanges, vip)
	}
	s.Endpoints = p.endpoints(&s, port, owner)
	s.Retired = retired(prev, s.Endpoints)
	if !slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Active }) {
		s.Flags |= NoEndpoint
	}
	s.History = p.history(&s, prev)
	keep := make(map[netip.AddrPort]EndpointID)
	for _, list := range [][]Endpoint{prev.Endpoints, prev.Retired} {
		for _, e := range list {
			keep[e.Addr] = e.ID
		}
	}
	for i := range s.Endpoints {
		s.Endpoints[i].ID = keep[s.Endpoints[i].Addr]
	}
	return s
}

// sources are the ranges of the VIP's family: those of the other one permit
// nobody here.
func sources(ranges []netip.Prefix, vip netip.Addr) []netip.Prefix {
	var out []netip.Prefix
	for _, r := range ranges {
		if r.Addr().Is4() == vip.Is4() {
			out = append(out, r.Masked())
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out)
}

// endpoints are those of the port that this VIP can have, sorted by address.
// All that exist are among them, since old flows may be theirs.
func (p *planner) endpoints(s *Service, port lb.ServicePort, owner string) []Endpoint {
	object := s.Name.String() + " " + port.Protocol.String()
	var out []Endpoint
	var known []lb.Endpoint
	for _, e := range port.Endpoints {
		switch {
		case e.Addr.Addr().Is4() != s.VIP.Is4():
		case p.nodeIDs[e.Node] == 0:
			p.problem(EndpointNode, object, e.Addr.String())
		case s.Protocol == lb.SCTP && e.Addr.Port() != s.Port:
			p.problem(SCTPPort, object, e.Addr.String())
		case len(known) == maglev.MaxEndpoints:
			p.problem(TooManyEndpoints, object, e.Addr.String())
		default:
			known = append(known, e)
		}
	}
	slices.SortFunc(known, func(a, b lb.Endpoint) int { return a.Addr.Compare(b.Addr) })
	active := make(map[netip.AddrPort]bool)
	for _, e := range lb.Active(known) {
		active[e.Addr] = s.Flags&LocalOnly == 0 || e.Node == owner
	}
	for _, e := range known {
		out = append(out, Endpoint{Addr: e.Addr, Node: p.nodeIDs[e.Node], Active: active[e.Addr],
			Usable: e.Ready || e.Serving && e.Terminating})
	}
	return out
}

// retired are the endpoints of before that are gone although their pod, going
// by the address, is not: it has another port now.
func retired(prev *Service, endpoints []Endpoint) []Endpoint {
	var out []Endpoint
	for _, list := range [][]Endpoint{prev.Endpoints, prev.Retired} {
		for _, e := range list {
			same := func(n Endpoint) bool { return n.Addr == e.Addr }
			pod := func(n Endpoint) bool { return n.Addr.Addr() == e.Addr.Addr() && n.Node == e.Node }
			if slices.ContainsFunc(endpoints, pod) && !slices.ContainsFunc(endpoints, same) {
				e.Active, e.Usable = false, false
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b Endpoint) int { return a.Addr.Compare(b.Addr) })
	return out
}

// history is the table of the service with what it was before.
func (p *planner) history(s, prev *Service) maglev.History {
	members := make([]maglev.Endpoint, len(s.Endpoints))
	for i, e := range s.Endpoints {
		members[i].Key = e.Addr
		if e.Active {
			members[i].Weight = 1
		}
	}
	before := prev.History
	if slices.Equal(before.Table.Endpoints, members) && before.Table.Slots != nil && p.prev.Seed == p.facts.Seed {
		return before
	}
	before.Table.Endpoints = moved(before.Table.Endpoints, members)
	next := maglev.Table{Endpoints: members, Slots: p.builder.Build(nil, members)}
	return before.Update(next, Stamp(p.facts.Now))
}

// moved returns the old endpoints, sorted, where those whose port is gone have
// turned into one with the same address: a history leads to the node, and any
// endpoint of the pod does for that.
func moved(old, next []maglev.Endpoint) []maglev.Endpoint {
	out := slices.Clone(old)
	for i, e := range out {
		// The greatest of the same address that is not above, else the least: so
		// the order stays.
		j, found := slices.BinarySearchFunc(next, e.Key, func(n maglev.Endpoint, k netip.AddrPort) int { return n.Key.Compare(k) })
		switch {
		case found:
		case j > 0 && next[j-1].Key.Addr() == e.Key.Addr():
			out[i].Key = next[j-1].Key
		case j < len(next) && next[j].Key.Addr() == e.Key.Addr():
			out[i].Key = next[j].Key
		}
	}
	return out
}

// number gives new numbers to what has none.
func (p *planner) number(s *Service) {
	if s.ID == 0 {
		p.next.IDs.Service++
		s.ID = p.next.IDs.Service
	}
	for i := range s.Endpoints {
		if s.Endpoints[i].ID == 0 {
			p.next.IDs.Endpoint++
			s.Endpoints[i].ID = p.next.IDs.Endpoint
		}
	}
}

// vips plans the addresses that at least one planned service is on.
func (p *planner) vips() {
	numbers := make(map[netip.Addr]VIPID)
	for _, v := range p.prev.VIPs {
		numbers[v.Addr] = v.ID
	}
	for _, s := range p.next.Services {
		last := len(p.next.VIPs) - 1
		if s.Flags&PassUp == 0 && (last < 0 || p.next.VIPs[last].Addr != s.VIP) {
			p.next.VIPs = append(p.next.VIPs, VIP{ID: numbers[s.VIP], Addr: s.VIP})
		}
	}
	p.next.Services = slices.DeleteFunc(p.next.Services, func(s Service) bool { return p.next.vip(s.VIP) == nil })
	taken := make(map[netip.Addr]bool)
	for i := range p.next.VIPs {
		v := &p.next.VIPs[i]
		if v.ID == 0 {
			p.next.IDs.VIP++
			v.ID = p.next.IDs.VIP
		}
		// The marks of two VIPs are the same for all hops or for none.
		if first := Mark(v.Addr, 1); taken[first] {
			p.problem(MarkTaken, "vip "+v.Addr.String(), first.String())
			continue
		}
		for hop := range MaxHops {
			v.Marks[hop] = Mark(v.Addr, hop+1)
			taken[v.Marks[hop]] = true
		}
	}
	p.codes()
}

// codes gives each VIP the DSCP that stands for it, if any node is reached that
// way. All nodes must agree, so they follow from the addresses alone: where the
// hash says, or the next one that is free. So most stay when a VIP comes or goes.
func (p *planner) codes() {
	if !slices.ContainsFunc(p.facts.Peers, func(n Peer) bool { return n.Mode == ModeDSCP }) {
		return
	}
	const codes = 63
	var taken [codes]bool
	for i := range p.next.VIPs {
		v := &p.next.VIPs[i]
		if i >= codes {
			p.problem(DSCPExhausted, "vip "+v.Addr.String(), "")
			continue
		}
		h := maglev.SlotOf(maglev.Tuple{Src: v.Addr, Dst: v.Addr}.Hash(p.facts.Seed), codes)
		for taken[h] {
			h = (h + 1) % codes
		}
		taken[h] = true
		v.DSCP = uint8(h + 1)
	}
}
