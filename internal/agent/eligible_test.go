package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// service has one TCP port with a ready endpoint on each of nodes.
func service(name, vip string, local bool, nodes ...string) lb.Service {
	p := lb.ServicePort{Protocol: lb.TCP, Port: 80}
	for i, n := range nodes {
		p.Endpoints = append(p.Endpoints, lb.Endpoint{
			Addr: netip.AddrPortFrom(addr(fmt.Sprintf("10.244.0.%d", i+1)), 8080), Node: n, Ready: true, Serving: true,
		})
	}
	return lb.Service{
		Name: lb.ObjectName{Namespace: "default", Name: name}, Addresses: []netip.Addr{addr(vip)},
		Ports: []lb.ServicePort{p}, LocalOnly: local,
	}
}

func TestEligible(t *testing.T) {
	nodes := []lb.Node{
		{Name: "n1", Labels: map[string]string{"rack": "a"}},
		{Name: "n2", Labels: map[string]string{"rack": "b"}},
		{Name: "n3", Labels: map[string]string{"rack": "b"}},
	}
	rackB := &lb.Selector{Requirements: []lb.Requirement{{Key: "rack", Op: lb.OpIn, Values: []string{"b"}}}}
	pools := []lb.Pool{{Name: "p", Ranges: []lb.Range{{From: addr("10.77.0.200"), To: addr("10.77.0.210")}}}}
	facts := segmentFacts{Interface: "eth0", Automatic: true, Self: "n1", Peers: []string{"n2", "n3"}}

	for _, tc := range []struct {
		name  string
		snap  lb.Snapshot
		facts func(*segmentFacts)
		want  string // "vip: node=refusal …", a VIP a line; "" if none is announced here
	}{
		{
			name: "no announcement means everybody everywhere",
			snap: lb.Snapshot{Services: []lb.Service{service("w", "10.77.0.200", false, "n2")}},
			want: "10.77.0.200:",
		},
		{
			name: "a rule for another pool covers nothing",
			snap: lb.Snapshot{
				Services: []lb.Service{service("w", "10.77.0.200", false)}, Pools: pools,
				Announcements: []lb.Announcement{{Name: "other", Pools: []string{"q"}}},
			},
		},
		{
			name: "node selector",
			snap: lb.Snapshot{
				Services: []lb.Service{service("w", "10.77.0.200", false)}, Pools: pools,
				Announcements: []lb.Announcement{{Name: "r", Pools: []string{"p"}, NodeSelector: rackB}},
			},
			want: "10.77.0.200: n1=not_selected",
		},
		{
			name: "a member without a Node object has no labels",
			snap: lb.Snapshot{
				Services: []lb.Service{service("w", "10.77.0.200", false)}, Pools: pools,
				Announcements: []lb.Announcement{{Name: "r", NodeSelector: rackB}},
			},
			facts: func(f *segmentFacts) { f.Peers = append(f.Peers, "n9") },
			want:  "10.77.0.200: n1=not_selected n9=not_selected",
		},
		{
			name:  "a member that is none of the manifests' nodes",
			snap:  lb.Snapshot{Services: []lb.Service{service("w", "10.77.0.200", false)}},
			facts: func(f *segmentFacts) { f.Peers = append(f.Peers, "n9") },
			want:  "10.77.0.200: n9=unknown_node",
		},
		{
			name: "a rule that names another interface",
			snap: lb.Snapshot{
				Services: []lb.Service{service("w", "10.77.0.200", false)}, Pools: pools,
				Announcements: []lb.Announcement{{Name: "r", Interfaces: []string{"bond*"}}},
			},
		},
		{
			name: "a rule that names an interface which isn't the automatic one",
			snap: lb.Snapshot{
				Services: []lb.Service{service("w", "10.77.0.200", false), service("x", "10.77.0.99", false)}, Pools: pools,
				Announcements: []lb.Announcement{{Name: "r", Pools: []string{"p"}, Interfaces: []string{"eth*"}}},
			},
			facts: func(f *segmentFacts) { f.Automatic = false },
			want:  "10.77.0.200:",
		},
		{
			name: "local traffic policy: nodes without an active endpoint",
			snap: lb.Snapshot{Services: []lb.Service{service("w", "10.77.0.200", true, "n2")}},
			want: "10.77.0.200: n1=no_local_endpoint n3=no_local_endpoint",
		},
		{
			name: "not ready beyond the grace",
			snap: lb.Snapshot{Services: []lb.Service{service("w", "10.77.0.200", false)}},
			facts: func(f *segmentFacts) {
				f.NotReady = map[string]bool{"n2": true}
			},
			want: "10.77.0.200: n2=node_not_ready",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.snap.Nodes = nodes
			f := facts
			f.Peers = slices.Clone(facts.Peers)
			if tc.facts != nil {
				tc.facts(&f)
			}
			var lines []string
			for _, v := range eligible(&tc.snap, tc.snap.VIPs(), f) {
				line := v.Addr.String() + ":"
				for _, n := range []string{"n1", "n2", "n3", "n9"} {
					if r := v.Refused[n]; r != lb.Eligible {
						line += fmt.Sprintf(" %s=%s", n, r)
					}
				}
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "\n"); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestRefusalOrder(t *testing.T) {
	v := lb.VIP{Addr: addr("10.77.0.200"), Rules: []lb.Announcement{{}}}
	f := segmentFacts{Interface: "eth0", Automatic: true, Self: "n1", NotReady: map[string]bool{"n1": true}}
	n := lb.Node{Name: "n1", Excluded: true, Draining: true}
	for _, want := range []lb.Refusal{lb.ExcludedByLabel, lb.Draining, lb.NotReady, lb.Eligible} {
		if got := refusal(v, n, f); got != want {
			t.Fatalf("refusal = %v, want %v", got, want)
		}
		switch want {
		case lb.ExcludedByLabel:
			n.Excluded = false
		case lb.Draining:
			n.Draining = false
		case lb.NotReady:
			f.NotReady = nil
		}
	}
}
