package lb

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSelector(t *testing.T) {
	labels := map[string]string{"zone": "a", "edge": ""}
	for _, tt := range []struct {
		name string
		reqs []Requirement
		want bool
	}{
		{"empty", nil, true},
		{"in", []Requirement{{"zone", OpIn, []string{"b", "a"}}}, true},
		{"in others", []Requirement{{"zone", OpIn, []string{"b"}}}, false},
		{"in, absent", []Requirement{{"rack", OpIn, []string{""}}}, false},
		{"in nothing", []Requirement{{"zone", OpIn, nil}}, false},
		{"not in", []Requirement{{"zone", OpNotIn, []string{"b"}}}, true},
		{"not in, there", []Requirement{{"zone", OpNotIn, []string{"a"}}}, false},
		{"not in, absent", []Requirement{{"rack", OpNotIn, []string{"a"}}}, true},
		{"exists, empty", []Requirement{{"edge", OpExists, nil}}, true},
		{"exists, absent", []Requirement{{"rack", OpExists, nil}}, false},
		{"does not exist", []Requirement{{"rack", OpDoesNotExist, nil}}, true},
		{"does not exist, there", []Requirement{{"zone", OpDoesNotExist, nil}}, false},
		{"all must hold", []Requirement{{"edge", OpExists, nil}, {"rack", OpExists, nil}}, false},
		{"unknown operator", []Requirement{{"zone", "in", []string{"a"}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&Selector{tt.reqs}).Matches(labels); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if !(*Selector)(nil).Matches(nil) {
		t.Error("no selector selects everything")
	}
}

// TestRangeTwin: ranges agree with the same questions asked of every address.
func TestRangeTwin(t *testing.T) {
	addr := rapid.Custom(func(t *rapid.T) netip.Addr {
		n := byte(rapid.IntRange(0, 15).Draw(t, "n"))
		if rapid.Bool().Draw(t, "v6") {
			return netip.AddrFrom16([16]byte{15: n})
		}
		return netip.AddrFrom4([4]byte{3: n})
	})
	rng := rapid.Custom(func(t *rapid.T) Range {
		a := addr.Draw(t, "from")
		b := addr.Filter(func(b netip.Addr) bool { return a.Is4() == b.Is4() }).Draw(t, "to")
		if b.Less(a) {
			a, b = b, a
		}
		return Range{a, b}
	})
	all := func(r Range) []netip.Addr {
		var out []netip.Addr
		for a := r.From; ; a = a.Next() {
			out = append(out, a)
			if a == r.To {
				return out
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r, o, a := rng.Draw(t, "r"), rng.Draw(t, "o"), addr.Draw(t, "a")
		if got, want := r.Contains(a), slices.Contains(all(r), a); got != want {
			t.Fatalf("%s contains %s: %v", r, a, got)
		}
		want := slices.ContainsFunc(all(r), func(a netip.Addr) bool { return slices.Contains(all(o), a) })
		if got := r.Overlaps(o); got != want {
			t.Fatalf("%s overlaps %s: %v", r, o, got)
		}
		if (Pool{Ranges: []Range{r, o}}).Contains(a) != (r.Contains(a) || o.Contains(a)) {
			t.Fatalf("pool of %s and %s, %s", r, o, a)
		}
	})
}

func TestSnapshotNode(t *testing.T) {
	s := &Snapshot{Nodes: []Node{{Name: "a"}, {Name: "b"}, {Name: "d"}}}
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": true, "": false, "e": false} {
		if n, ok := s.Node(name); ok != want || ok && n.Name != name {
			t.Errorf("Node(%q) = %v, %v", name, n, ok)
		}
	}
}

func TestParseForwarding(t *testing.T) {
	for _, f := range []Forwarding{ForwardingDSR, ForwardingKubeProxy} {
		if got, ok := ParseForwarding(f.String()); !ok || got != f {
			t.Errorf("%s is read as %s", f, got)
		}
	}
	for _, s := range []string{"", "default", "DSR", "dsr "} {
		if _, ok := ParseForwarding(s); ok {
			t.Errorf("%q is read", s)
		}
	}
}

// TestNames: every reason has a name of its own that can be a metric label.
func TestNames(t *testing.T) {
	var names []string
	for k := range numProblemKinds {
		names = append(names, k.String())
	}
	check(t, names)
	names = nil
	for r := range numRefusals {
		names = append(names, r.String())
	}
	check(t, names)
}

func check(t *testing.T, names []string) {
	t.Helper()
	seen := make(map[string]bool)
	for i, n := range names {
		if n == "" || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz_") != "" || seen[n] {
			t.Errorf("the name of %d is %q", i, n)
		}
		seen[n] = true
	}
}

func TestRefusalSoft(t *testing.T) {
	soft := []Refusal{UnknownNode, NotReady, Draining, DataplaneNotReady, NoLocalEndpoint, HearsNobody}
	for r := range numRefusals {
		if got := r.Soft(); got != slices.Contains(soft, r) {
			t.Errorf("%s is soft: %v", r, got)
		}
	}
}

func TestProblemCompare(t *testing.T) {
	problems := []Problem{
		{Kind: PortTaken, Object: "b", Addr: vip2},
		{Kind: PortTaken, Object: "b", Addr: vip1, Message: "y"},
		{Kind: PortTaken, Object: "b", Addr: vip1, Message: "x"},
		{Kind: PortInvalid, Object: "a", Field: "y"},
		{Kind: PortTaken, Object: "a", Field: "x"},
		{Kind: PoolInvalid, Object: "a", Where: "f:1"},
	}
	slices.SortFunc(problems, Problem.Compare)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := "a: x:  (port_taken)|a: y:  (port_invalid)|f:1: a:  (pool_invalid)|b: x (port_taken)|b: y (port_taken)|b:  (port_taken)"
	if g := strings.Join(got, "|"); g != want {
		t.Errorf("got  %s\nwant %s", g, want)
	}
}

// TestString: the text has all that a snapshot has.
func TestString(t *testing.T) {
	s := &Snapshot{
		Nodes:         []Node{{Name: "n1", Addresses: []netip.Addr{vip1}, Labels: map[string]string{"b": "2", "a": "1"}, NotReady: true, Excluded: true, Draining: true}},
		Pools:         []Pool{{Name: "p", Ranges: []Range{{vip1, vip2}, {vip6, vip6}}, Priority: -1}},
		Announcements: []Announcement{{Name: "r", NodeSelector: &Selector{}}},
		Services: []Service{{Name: ObjectName{"ns", "s"}, Addresses: []netip.Addr{vip2}, SharingKey: "k", Forwarding: ForwardingKubeProxy,
			Ports: []ServicePort{{Port: 80, Protocol: SCTP, Endpoints: []Endpoint{{Addr: netip.AddrPortFrom(vip6, 1), Ready: true, Terminating: true}}}}}},
		Problems: []Problem{{Kind: PortTaken, Object: "Service ns/s", Addr: vip1, Field: "f", Message: "m", Where: "w:1"}, {Kind: PoolOverlap, Object: "o", Warning: true, Message: "m"}},
	}
	want := `node n1 addresses 10.77.0.200 not-ready excluded draining
  label a=1
  label b=2
pool p ranges 10.77.0.200-10.77.0.201,2001:db8:77::200 manual priority -1
announcement r
  nodes all
service ns/s addresses 10.77.0.201 forwarding kube-proxy sharing-key "k"
  port 80/SCTP
    [2001:db8:77::200]:1 - ready terminating
refused 10.77.0.200 w:1: Service ns/s: f: m (port_taken)
warning o: m (pool_overlap)
`
	if got := s.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
