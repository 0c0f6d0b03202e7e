package lb

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var (
	vip1 = netip.MustParseAddr("10.77.0.200")
	vip2 = netip.MustParseAddr("10.77.0.201")
	vip6 = netip.MustParseAddr("2001:db8:77::200")
)

func endpoint(node string, ready bool) Endpoint {
	return Endpoint{Addr: netip.MustParseAddrPort("10.244.0.1:80"), Node: node, Ready: ready, Serving: ready}
}

func svc(name string, local bool, addrs []netip.Addr, eps ...Endpoint) Service {
	return Service{Name: ObjectName{"default", name}, Addresses: addrs, LocalOnly: local,
		Ports: []ServicePort{{Port: 80, Protocol: TCP, Endpoints: eps}}}
}

// TestVIPs: one entry per address, however many services are on it.
func TestVIPs(t *testing.T) {
	s := &Snapshot{
		Services: []Service{
			svc("b", false, []netip.Addr{vip6, vip2}, endpoint("n1", true)),
			svc("a", true, []netip.Addr{vip1, vip2}, endpoint("n3", true), endpoint("n2", true), endpoint("n2", true), endpoint("n1", false), endpoint("", true)),
			svc("c", true, []netip.Addr{vip1}, endpoint("n4", true), endpoint("n3", true)),
			svc("none", false, nil),
		},
		Pools: []Pool{{Name: "p", Ranges: []Range{{vip1, vip1}}}},
	}
	vips := s.VIPs()
	var got []string
	for _, v := range vips {
		var names []string
		for _, n := range v.Services {
			names = append(names, n.String())
		}
		got = append(got, strings.Join([]string{v.Addr.String(), strings.Join(names, ","), v.Pool, when(v.Local, "local"), strings.Join(v.LocalNodes, ",")}, " "))
		if len(v.Rules) != 1 || v.Rules[0].Name != "" {
			t.Errorf("%s: without Announcements one rule covers it, not %v", v.Addr, v.Rules)
		}
	}
	want := []string{
		"10.77.0.200 default/a,default/c p local n3",
		// A service beside it that any node may serve takes nothing away.
		"10.77.0.201 default/a,default/b  local n2,n3",
		"2001:db8:77::200 default/b   ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if vips := (&Snapshot{}).VIPs(); len(vips) != 0 {
		t.Errorf("nothing gives %v", vips)
	}
}

// TestLocalNodes: who may announce what has to be served where its endpoints
// are.
func TestLocalNodes(t *testing.T) {
	port := func(nodes ...string) ServicePort {
		var p ServicePort
		for _, n := range nodes {
			p.Endpoints = append(p.Endpoints, endpoint(n, true))
		}
		return p
	}
	on := func(addr string, e Endpoint) Endpoint {
		e.Addr = netip.MustParseAddrPort(addr)
		return e
	}
	idle := ServicePort{Endpoints: []Endpoint{endpoint("n1", false)}}
	terminating := ServicePort{Endpoints: []Endpoint{{Addr: endpoint("", true).Addr, Node: "n1", Serving: true, Terminating: true}}}
	other := ServicePort{Endpoints: []Endpoint{on("[2001:db8::1]:80", endpoint("n1", true)), on("10.0.0.1:80", endpoint("n2", true))}}
	local := func(ports ...ServicePort) Service {
		return Service{Addresses: []netip.Addr{vip1}, LocalOnly: true, Ports: ports}
	}
	cluster := Service{Addresses: []netip.Addr{vip1}, Ports: []ServicePort{port("n9")}}
	for _, tt := range []struct {
		name     string
		services []Service
		local    bool
		want     string
		torn     bool
	}{
		{"nothing local", []Service{cluster}, false, "", false},
		{"one local", []Service{local(port("n2", "n1"))}, true, "n1,n2", false},
		{"beside any", []Service{cluster, local(port("n1"))}, true, "n1", false},
		{"common to services", []Service{local(port("n1", "n2")), local(port("n2", "n3"))}, true, "n2", false},
		{"common to ports", []Service{local(port("n1", "n2"), port("n3", "n1"))}, true, "n1", false},
		{"a port without endpoints", []Service{local(port("n1"), ServicePort{}, idle)}, true, "n1", false},
		{"a service without endpoints", []Service{local(port("n1")), local()}, true, "n1", false},
		{"no endpoints at all", []Service{local(idle)}, true, "", false},
		{"endpoints of no node", []Service{local(port("n1"), port(""))}, true, "n1", false},
		{"terminating", []Service{local(port("n1", "n2"), terminating)}, true, "n1", false},
		{"of the family", []Service{local(other)}, true, "n2", false},
		{"services apart", []Service{local(port("n1")), local(port("n3", "n2"))}, true, "n1,n2,n3", true},
		{"ports apart", []Service{local(port("n2"), port("n1"))}, true, "n1,n2", true},
		{"apart in a ring", []Service{local(port("n1", "n2"), port("n2", "n3"), port("n3", "n1"))}, true, "n1,n2,n3", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := (&Snapshot{Services: tt.services}).VIPs()[0]
			if got := strings.Join(v.LocalNodes, ","); v.Local != tt.local || got != tt.want || v.Torn != tt.torn {
				t.Errorf("local %v, nodes %s, torn %v", v.Local, got, v.Torn)
			}
		})
	}
}

// TestVIPRules: which Announcements cover an address.
func TestVIPRules(t *testing.T) {
	s := &Snapshot{
		Services: []Service{svc("a", false, []netip.Addr{vip1, vip2, vip6})},
		Pools:    []Pool{{Name: "p", Ranges: []Range{{vip1, vip1}}}, {Name: "q", Ranges: []Range{{vip1, vip2}}}},
	}
	for _, tt := range []struct {
		name  string
		rules []Announcement
		want  string // rule names per VIP
	}{
		{"of all", []Announcement{{Name: "r"}}, "r|r|r"},
		{"of a pool", []Announcement{{Name: "r", Pools: []string{"q"}}}, "|r|"},
		{"of the first pool by name", []Announcement{{Name: "r", Pools: []string{"p"}}}, "r||"},
		{"several", []Announcement{{Name: "r", Pools: []string{"p"}}, {Name: "s", Pools: []string{"p", "q"}}}, "r,s|s|"},
		{"of a pool that isn't", []Announcement{{Name: "r", Pools: []string{""}}}, "||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.Announcements = tt.rules
			var got []string
			for _, v := range s.VIPs() {
				var names []string
				for _, r := range v.Rules {
					names = append(names, r.Name)
				}
				got = append(got, strings.Join(names, ","))
			}
			if g := strings.Join(got, "|"); g != tt.want {
				t.Errorf("got %s, want %s", g, tt.want)
			}
		})
	}
}

func TestPermits(t *testing.T) {
	edge := &Selector{Requirements: []Requirement{{Key: "edge", Op: OpExists}}}
	for _, tt := range []struct {
		name      string
		rule      Announcement
		labels    map[string]string
		ifname    string
		automatic bool
		want      bool
	}{
		{"automatic", Announcement{}, nil, "eth0", true, true},
		{"not automatic", Announcement{}, nil, "eth1", false, false},
		{"named", Announcement{Interfaces: []string{"eth1"}}, nil, "eth1", false, true},
		{"another named", Announcement{Interfaces: []string{"eth1"}}, nil, "eth0", true, false},
		{"glob", Announcement{Interfaces: []string{"x", "eth[0-3]"}}, nil, "eth3", false, true},
		{"no match of a glob", Announcement{Interfaces: []string{"eth*"}}, nil, "bond0", true, false},
		{"bad glob", Announcement{Interfaces: []string{"eth["}}, nil, "eth[", true, false},
		{"selected", Announcement{NodeSelector: edge}, map[string]string{"edge": ""}, "eth0", true, true},
		{"not selected", Announcement{NodeSelector: edge}, nil, "eth0", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rule.Permits(tt.labels, tt.ifname, tt.automatic); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestActive: the table of KEP-1669.
func TestActive(t *testing.T) {
	ep := func(port uint16, ready, serving, terminating bool) Endpoint {
		return Endpoint{Addr: netip.AddrPortFrom(vip1, port), Ready: ready, Serving: serving, Terminating: terminating}
	}
	for _, tt := range []struct {
		name string
		eps  []Endpoint
		want []uint16
	}{
		{"none", nil, nil},
		{"ready", []Endpoint{ep(1, true, true, false), ep(2, false, false, false)}, []uint16{1}},
		{"terminating, alone", []Endpoint{ep(1, false, true, true), ep(2, false, true, true)}, []uint16{1, 2}},
		{"terminating beside ready", []Endpoint{ep(1, false, true, true), ep(2, true, true, false)}, []uint16{2}},
		{"terminating, not serving", []Endpoint{ep(1, false, false, true)}, nil},
		{"serving, not terminating, not ready", []Endpoint{ep(1, false, true, false)}, nil},
		{"published although not ready", []Endpoint{ep(1, true, false, true)}, []uint16{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []uint16
			for _, e := range (ServicePort{Endpoints: tt.eps}).Active() {
				got = append(got, e.Addr.Port())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
