package link

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func TestUnannounceable(t *testing.T) {
	for _, c := range []struct {
		addr string
		want lb.ProblemKind
	}{
		{"192.168.1.200", lb.ProblemNone}, // held by an interface that is down on purpose
		{"192.168.1.10", lb.AddressIsNode},
		{"fd00::10", lb.AddressIsNode},
		{"10.9.9.9", lb.AddressIsNode}, // on the loopback interface
		{"192.168.1.0", lb.AddressNotUnicast},
		{"192.168.1.255", lb.AddressNotUnicast},
		{"10.1.0.8", lb.AddressNotUnicast},
		{"10.1.0.11", lb.AddressNotUnicast},
		{"10.2.0.11", lb.ProblemNone}, // a /31 has neither
		{"192.168.2.255", lb.ProblemNone},
		{"fd00::", lb.ProblemNone},
		{"fd00::ffff:ffff:ffff:ffff", lb.ProblemNone},
	} {
		kind, message := host().Unannounceable(netip.MustParseAddr(c.addr))
		if kind != c.want || (message == "") != (kind == lb.ProblemNone) {
			t.Errorf("%s: %s %q, want %s", c.addr, kind, message, c.want)
		}
	}
}

// The twin walks the subnet: the network address is its first, the broadcast
// address its last.
func TestSubnetEndsAgreeWithAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(20, 32).Draw(t, "bits")
		addr := netip.AddrFrom4([4]byte{
			rapid.Byte().Draw(t, "a"), rapid.Byte().Draw(t, "b"), rapid.Byte().Draw(t, "c"), rapid.Byte().Draw(t, "d"),
		})
		p := netip.PrefixFrom(addr, bits)
		var first, last netip.Addr
		if bits <= 30 {
			first = p.Masked().Addr()
			for a := first; a.IsValid() && p.Contains(a); a = a.Next() {
				last = a
			}
		}
		if got := NetworkAddress(p); got != first {
			t.Fatalf("network address of %s is %s, want %s", p, got, first)
		}
		if got := BroadcastAddress(p); got != last {
			t.Fatalf("broadcast address of %s is %s, want %s", p, got, last)
		}
	})
}
