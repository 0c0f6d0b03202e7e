package link

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func host() State {
	mac := lb.MAC{2, 0, 0, 0, 0, 1}
	return State{Interfaces: []Interface{
		{Name: "eth0", Index: 2, MAC: mac, Up: true, Carrier: true, Addrs: prefixes("192.168.1.10/24", "fd00::10/64")},
		{Name: "eth1", Index: 3, MAC: mac, Up: true, Carrier: true, Addrs: prefixes("10.1.0.10/30")},
		{Name: "eth2", Index: 4, MAC: mac, Up: true, Addrs: prefixes("10.2.0.10/31")},
		{Name: "kube-ipvs0", Index: 5, MAC: mac, Addrs: prefixes("192.168.1.200/32")},
		{Name: "lo", Index: 1, Up: true, Carrier: true, Loopback: true, Addrs: prefixes("127.0.0.1/8", "10.9.9.9/32")},
		{Name: "tun0", Index: 6, Up: true, Carrier: true, Addrs: prefixes("10.8.0.1/24")},
	}}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name     string
		node     string
		patterns string
		want     string // those that are not not_matched
	}{
		{"automatic", "192.168.1.10 fd00::10", "", "eth0=holds_node_address"},
		{"two interfaces hold one address each", "192.168.1.10 10.1.0.10", "", "eth0=holds_node_address eth1=holds_node_address"},
		{"the node's address is on a loopback", "10.9.9.9", "", "lo=loopback"},
		{"the node's address is on a tunnel", "10.8.0.1", "", "tun0=no_mac"},
		{"the node's interface is down", "10.2.0.10", "", "eth2=down"},
		{"the node has no address here", "203.0.113.1", "", ""},
		{"the node has no address at all", "", "", ""},
		{"named", "192.168.1.10", "eth1", "eth1=selected"},
		{"glob", "192.168.1.10", "eth*", "eth0=selected eth1=selected eth2=down"},
		{"everything", "", "*", "eth0=selected eth1=selected eth2=down kube-ipvs0=down lo=loopback tun0=no_mac"},
		{"missing, named twice", "192.168.1.10", "eth9 eth0 eth9", "eth0=selected eth9=missing"},
		{"a glob of nothing", "192.168.1.10", "ens*", "ens*=missing"},
		{"no valid glob", "192.168.1.10", "[", "[=missing"},
	} {
		var node []netip.Addr
		for _, a := range strings.Fields(c.node) {
			node = append(node, netip.MustParseAddr(a))
		}
		var got []string
		for _, choice := range Select(host(), node, strings.Fields(c.patterns)) {
			if choice.Reason != NotMatched {
				got = append(got, fmt.Sprintf("%s=%s", choice.Name, choice.Reason))
			}
			if choice.Name == "lo" && choice.Selected() {
				t.Errorf("%s: the loopback interface is chosen", c.name)
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestReasonsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for r := range Reasons {
		s := Reason(r).String()
		if s == "" || seen[s] {
			t.Errorf("reason %d is called %q", r, s)
		}
		seen[s] = true
	}
}
