package proxy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func ports(ss ...string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, s := range ss {
		out = append(out, netip.MustParseAddrPort(s))
	}
	return out
}

func TestPlan(t *testing.T) {
	web := ports("10.244.2.10:8080", "10.244.1.10:8080", "[fd00:244:1::10]:8080")
	frontends := []Frontend{
		{netip.MustParseAddrPort("10.77.0.201:80"), lb.TCP, web},
		{netip.MustParseAddrPort("10.77.0.200:7000"), lb.UDP, ports("10.244.1.10:7000")},
		{netip.MustParseAddrPort("10.77.0.200:7000"), lb.TCP, ports("10.244.1.10:7000")},
		{netip.MustParseAddrPort("10.77.0.200:80"), lb.TCP, web},
		{netip.MustParseAddrPort("10.77.0.202:80"), lb.TCP, nil},
		{netip.MustParseAddrPort("[2001:db8:77::200]:80"), lb.TCP, web},
	}
	want := `TCP 10.77.0.200:80 -> group 0
TCP 10.77.0.200:7000 -> group 1
UDP 10.77.0.200:7000 -> group 1
TCP 10.77.0.201:80 -> group 0
group 0: 10.244.1.10:8080 10.244.2.10:8080
group 1: 10.244.1.10:7000
`
	if diff := cmp.Diff(want, makePlan(frontends, true).String()); diff != "" {
		t.Errorf("IPv4 (-want +got)\n%s", diff)
	}
	want = `TCP [2001:db8:77::200]:80 -> group 0
group 0: [fd00:244:1::10]:8080
`
	if diff := cmp.Diff(want, makePlan(frontends, false).String()); diff != "" {
		t.Errorf("IPv6 (-want +got)\n%s", diff)
	}
}

// A random row is a random endpoint: no endpoint has more than one row more
// than another, and none is left out.
func TestSlotsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, slots).Draw(t, "endpoints")
		f := Frontend{Addr: netip.MustParseAddrPort("10.77.0.200:80"), Protocol: lb.TCP}
		for i := range n {
			f.Endpoints = append(f.Endpoints, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 244, 1, byte(i)}), 80))
		}
		p := makePlan([]Frontend{f}, true)
		count := make(map[netip.AddrPort]int)
		for row := range slots {
			count[p.slot(0, row)]++
		}
		for _, e := range f.Endpoints {
			if c := count[e]; c < slots/n || c > slots/n+1 {
				t.Fatalf("%s has %d of %d rows, with %d endpoints", e, c, slots, n)
			}
		}
	})
}
