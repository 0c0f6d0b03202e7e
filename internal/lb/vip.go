package lb

import (
	"net/netip"
	"path"
	"slices"
)

// VIP is a service address with what decides who may announce it and where.
type VIP struct {
	Addr     netip.Addr
	Services []ObjectName // sorted
	// Pool is the name of the pool that has the address, or "".
	Pool string
	// Rules are the Announcements that cover it. Empty means that no
	// Announcement covers it although there are some.
	Rules []Announcement
	// Local is true when any service on it is externalTrafficPolicy: Local. Then
	// only LocalNodes, sorted, may announce it: the nodes that have an active
	// endpoint, of the address's family, of every port of every such service. A
	// port without any does not count: no node could serve it.
	Local      bool
	LocalNodes []string
	// Torn is true when there is no such node although every port that counts
	// has some. LocalNodes then are the nodes with an endpoint of any of these
	// ports: each serves some clients and none serves all.
	Torn bool
}

// VIPs derives the addresses to announce, sorted by address.
func (s *Snapshot) VIPs() []VIP {
	byAddr := make(map[netip.Addr]*VIP)
	local := make(map[netip.Addr]*localNodes)
	for _, svc := range s.Services {
		for _, a := range svc.Addresses {
			v := byAddr[a]
			if v == nil {
				v = &VIP{Addr: a}
				v.Pool, v.Rules = s.rules(a)
				byAddr[a], local[a] = v, &localNodes{}
			}
			v.Services = append(v.Services, svc.Name)
			if !svc.LocalOnly {
				continue
			}
			v.Local = true
			for _, p := range svc.Ports {
				local[a].add(p.activeNodes(a))
			}
		}
	}
	vips := make([]VIP, 0, len(byAddr))
	for a, v := range byAddr {
		slices.SortFunc(v.Services, ObjectName.Compare)
		v.LocalNodes, v.Torn = local[a].nodes()
		vips = append(vips, *v)
	}
	slices.SortFunc(vips, func(a, b VIP) int { return a.Addr.Compare(b.Addr) })
	return vips
}

// localNodes counts, for the ports that must be served where their endpoints
// are, on how many of them each node has one.
type localNodes struct {
	ports int
	has   map[string]int // node name → ports
}

// add takes in a port with endpoints on these nodes; without any it puts no
// node out of the question.
func (l *localNodes) add(nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if l.has == nil {
		l.has = make(map[string]int)
	}
	l.ports++
	for _, n := range nodes {
		l.has[n]++
	}
}

// nodes returns the nodes that have all the ports. If there is none it is those
// that have any, and torn is true.
func (l *localNodes) nodes() (names []string, torn bool) {
	var all, some []string
	for n, ports := range l.has {
		some = append(some, n)
		if ports == l.ports {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Sort(some)
	if len(all) == 0 && len(some) > 0 {
		return some, true
	}
	return all, false
}

// activeNodes returns the nodes with an active endpoint that serves the VIP a,
// each once.
func (p ServicePort) activeNodes(a netip.Addr) []string {
	var family []Endpoint
	for _, e := range p.Endpoints {
		if e.Addr.Addr().Is4() == a.Is4() {
			family = append(family, e)
		}
	}
	var nodes []string
	for _, e := range Active(family) {
		if e.Node != "" && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	return nodes
}

// rules returns the pool of a and the Announcements that cover it. No
// Announcement object at all means one that covers everything.
func (s *Snapshot) rules(a netip.Addr) (pool string, rules []Announcement) {
	for _, p := range s.Pools {
		if p.Contains(a) {
			pool = p.Name
			break
		}
	}
	if len(s.Announcements) == 0 {
		return pool, []Announcement{{}}
	}
	for _, r := range s.Announcements {
		if len(r.Pools) == 0 || slices.Contains(r.Pools, pool) && pool != "" {
			rules = append(rules, r)
		}
	}
	return pool, rules
}

// Permits reports whether the rule lets a node with these labels announce
// through the interface ifname. automatic tells whether the interface is one
// of those chosen without a rule (the one that holds the node's address, or
// those of --interface).
func (r Announcement) Permits(labels map[string]string, ifname string, automatic bool) bool {
	if !r.NodeSelector.Matches(labels) {
		return false
	}
	if len(r.Interfaces) == 0 {
		return automatic
	}
	return r.MatchesInterface(ifname)
}

// MatchesInterface reports whether one of the rule's names or globs is ifname.
func (r Announcement) MatchesInterface(ifname string) bool {
	for _, g := range r.Interfaces {
		if ok, err := path.Match(g, ifname); err == nil && ok {
			return true
		}
	}
	return false
}
