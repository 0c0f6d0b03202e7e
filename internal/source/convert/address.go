package convert

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// parseAddr reads one address in its only unambiguous spelling. Where the
// error of netip doesn't help, it says what to write instead. Blanks are the
// caller's business.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case s == "":
		return netip.Addr{}, fmt.Errorf("the address is empty: leave the entry out")
	case err != nil && withoutLeadingZeros(s).IsValid():
		return netip.Addr{}, fmt.Errorf("%s has leading zeros, which some programs read as octal: write %s", s, withoutLeadingZeros(s))
	case err != nil && isPrefix(s):
		return netip.Addr{}, fmt.Errorf("%s is a prefix: write one address without /", s)
	case err != nil:
		return netip.Addr{}, fmt.Errorf("%q is not an IP address: write one such as 192.0.2.1 or 2001:db8::1", s)
	case a.Zone() != "":
		return netip.Addr{}, fmt.Errorf("%s has a zone: write %s", s, a.WithZone(""))
	case a.Is4In6():
		return netip.Addr{}, fmt.Errorf("%s is an IPv4 address in IPv6 spelling: write %s", s, a.Unmap())
	}
	return a, nil
}

func isPrefix(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// withoutLeadingZeros reads a dotted quad with leading zeros as decimal; the
// zero Addr for anything else.
func withoutLeadingZeros(s string) netip.Addr {
	octets := strings.Split(s, ".")
	for i, o := range octets {
		if octets[i] = strings.TrimLeft(o, "0"); octets[i] == "" && o != "" {
			octets[i] = "0"
		}
	}
	a, err := netip.ParseAddr(strings.Join(octets, "."))
	if err != nil || !a.Is4() {
		return netip.Addr{}
	}
	return a
}

// Blocks of the IANA registries of special addresses that the netip predicates
// don't know.
var (
	thisNetwork    = netip.MustParsePrefix("0.0.0.0/8")   // RFC 791, 3.2
	reserved       = netip.MustParsePrefix("240.0.0.0/4") // RFC 1112, 4
	ipv4Compatible = netip.MustParsePrefix("::/96")       // RFC 4291, 2.5.5.1: deprecated
)

// notUnicast says what kind of address a is if it can't belong to one host on
// a network, else "".
func notUnicast(a netip.Addr) string {
	switch {
	case a.IsUnspecified():
		return "the unspecified address"
	case a.IsLoopback():
		return "a loopback address"
	case a.IsMulticast():
		return "a multicast address"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	case thisNetwork.Contains(a):
		return "an address of 0.0.0.0/8, which no host can be reached at"
	case reserved.Contains(a):
		return "an address of 240.0.0.0/4, which is reserved"
	case ipv4Compatible.Contains(a):
		return "an IPv4-compatible IPv6 address of ::/96, which is deprecated"
	}
	return ""
}

// parseRange reads an element of an AddressPool: a prefix, a range or a single
// address. Blanks around the whole and around the hyphen don't matter.
func parseRange(s string) (lb.Range, error) {
	s = strings.TrimSpace(s)
	if from, to, ok := strings.Cut(s, "-"); ok {
		return parseFromTo(strings.TrimSpace(from), strings.TrimSpace(to))
	}
	if strings.Contains(s, "/") {
		p, err := parsePrefix(s)
		if err != nil {
			return lb.Range{}, err
		}
		if p != p.Masked() {
			return lb.Range{}, fmt.Errorf("%s has host bits set: write %s for the whole prefix or %s for the one address", s, p.Masked(), p.Addr())
		}
		return lb.Range{From: p.Addr(), To: lastAddr(p)}, nil
	}
	a, err := parseAddr(s)
	return lb.Range{From: a, To: a}, err
}

func parseFromTo(from, to string) (lb.Range, error) {
	a, err := parseAddr(from)
	if err != nil {
		return lb.Range{}, err
	}
	b, err := parseAddr(to)
	if err != nil {
		return lb.Range{}, err
	}
	if a.Is4() != b.Is4() {
		return lb.Range{}, fmt.Errorf("%s-%s mixes IPv4 and IPv6: write a range of one family", a, b)
	}
	if b.Less(a) {
		return lb.Range{}, fmt.Errorf("%s-%s is reversed: write %s-%s", a, b, b, a)
	}
	return lb.Range{From: a, To: b}, nil
}

// parsePrefix reads a prefix, host bits allowed.
func parsePrefix(s string) (netip.Prefix, error) {
	addr, bits, ok := strings.Cut(s, "/")
	a, err := parseAddr(addr)
	if err != nil {
		return netip.Prefix{}, err
	}
	if !ok {
		return netip.Prefix{}, fmt.Errorf("%s has no prefix length: write %s", s, netip.PrefixFrom(a, a.BitLen()))
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s has the prefix length %q: write a number from 0 to %d", s, bits, a.BitLen())
	}
	return p, nil
}

// lastAddr is the highest address of p.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		if keep := p.Bits() - 8*i; keep <= 0 {
			b[i] = 0xff
		} else if keep < 8 {
			b[i] |= 0xff >> keep
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
