package convert

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func TestParseAddr(t *testing.T) {
	for in, want := range map[string]string{
		"10.77.0.200":           "10.77.0.200",
		"2001:DB8:77:0::0200":   "2001:db8:77::200",
		"010.077.0.200":         "error: 010.077.0.200 has leading zeros, which some programs read as octal: write 10.77.0.200",
		"00.0.0.0":              "error: 00.0.0.0 has leading zeros, which some programs read as octal: write 0.0.0.0",
		"10.77.0.0999":          `error: "10.77.0.0999" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1`,
		"::ffff:10.77.0.201":    "error: ::ffff:10.77.0.201 is an IPv4 address in IPv6 spelling: write 10.77.0.201",
		"2001:db8:77::201%eth0": "error: 2001:db8:77::201%eth0 has a zone: write 2001:db8:77::201",
		"10.77.0.0/24":          "error: 10.77.0.0/24 is a prefix: write one address without /",
		"":                      "error: the address is empty: leave the entry out",
		"0xa.0.0.1":             `error: "0xa.0.0.1" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1`,
		"167772161":             `error: "167772161" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1`,
		" 10.0.0.1":             `error: " 10.0.0.1" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1`,
	} {
		got, err := parseAddr(in)
		text := got.String()
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != want {
			t.Errorf("%q\ngot  %s\nwant %s", in, text, want)
		}
	}
}

func TestNotUnicast(t *testing.T) {
	for _, s := range []string{"0.0.0.0", "0.255.255.255", "127.255.0.1", "169.254.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255",
		"::", "::1", "::2", "::ffff:ffff", "fe80::1", "ff02::1"} {
		if notUnicast(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s may be served", s)
		}
	}
	for _, s := range []string{"1.0.0.0", "10.0.0.1", "100.64.0.1", "192.0.2.1", "223.255.255.255", "::1:0:0", "2001:db8::1", "fd00::1", "64:ff9b::1"} {
		if what := notUnicast(netip.MustParseAddr(s)); what != "" {
			t.Errorf("%s is %s", s, what)
		}
	}
}

// TestLastAddr: the last address of a prefix is in it and the next is not.
func TestLastAddr(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{4, 16}).Draw(t, "bytes")
		a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "address"))
		p := netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits")).Masked()
		last := lastAddr(p)
		if next := last.Next(); !p.Contains(last) || next.IsValid() && p.Contains(next) {
			t.Fatalf("last address of %s: %s", p, last)
		}
	})
}

// FuzzParseRange: what is accepted is sound and reads the same when it is
// printed and read again.
func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"10.0.0.0/24", "10.0.0.1-10.0.0.9", " 10.0.0.1 - 10.0.0.9 ", "10.0.0.1", "2001:db8::/64",
		"2001:db8::1-2001:db8::f", "10.0.0.5/28", "10.0.0.9-10.0.0.1", "10.0.0.1-2001:db8::1", "10.0.0.0/33", "::ffff:10.0.0.0/104", "-", "/", "fe80::1%a-b/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRange(s)
		if err != nil {
			return
		}
		if !r.From.IsValid() || r.From.Is4() != r.To.Is4() || r.To.Less(r.From) || r.From.Is4In6() || r.From.Zone() != "" {
			t.Fatalf("%q is %v", s, r)
		}
		if again, err := parseRange(r.String()); err != nil || again != r {
			t.Fatalf("%q is %v, and that %v, %v", s, r, again, err)
		}
	})
}

func TestCommon(t *testing.T) {
	r := func(from, to string) lb.Range {
		return lb.Range{From: netip.MustParseAddr(from), To: netip.MustParseAddr(to)}
	}
	for _, tt := range []struct{ a, b, want lb.Range }{
		{r("10.0.0.1", "10.0.0.9"), r("10.0.0.5", "10.0.0.20"), r("10.0.0.5", "10.0.0.9")},
		{r("10.0.0.1", "10.0.0.9"), r("10.0.0.2", "10.0.0.3"), r("10.0.0.2", "10.0.0.3")},
		{r("10.0.0.1", "10.0.0.9"), r("10.0.0.9", "10.0.0.9"), r("10.0.0.9", "10.0.0.9")},
	} {
		if got := common(tt.a, tt.b); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := common(tt.b, tt.a); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.b, tt.a, got, tt.want)
		}
	}
}
