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
	// Local is true when every service on it is externalTrafficPolicy: Local;
	// LocalNodes then are the nodes with an active endpoint, sorted.
	Local      bool
	LocalNodes []string
}

// VIPs derives the addresses to announce, sorted by address.
func (s *Snapshot) VIPs() []VIP {
	byAddr := make(map[netip.Addr]*VIP)
	for _, svc := range s.Services {
		for _, a := range svc.Addresses {
			v := byAddr[a]
			if v == nil {
				v = &VIP{Addr: a, Local: true}
				v.Pool, v.Rules = s.rules(a)
				byAddr[a] = v
			}
			v.Services = append(v.Services, svc.Name)
			if !svc.LocalOnly {
				v.Local = false
				continue
			}
			for _, p := range svc.Ports {
				for _, e := range p.Active() {
					if e.Node != "" {
						v.LocalNodes = append(v.LocalNodes, e.Node)
					}
				}
			}
		}
	}
	vips := make([]VIP, 0, len(byAddr))
	for _, v := range byAddr {
		slices.SortFunc(v.Services, ObjectName.Compare)
		slices.Sort(v.LocalNodes)
		v.LocalNodes = slices.Compact(v.LocalNodes)
		vips = append(vips, *v)
	}
	slices.SortFunc(vips, func(a, b VIP) int { return a.Addr.Compare(b.Addr) })
	return vips
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
