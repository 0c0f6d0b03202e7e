package topo

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDraw(t *testing.T) {
	tp, err := New(Spec{Prefix: "fl1", Nodes: 2, PodsPerNode: 2, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	want := ` switch (fl1-sw)
   ├── p-cl   cl  10.77.0.100  2001:db8:77::100     the client
   ├── p-n1   n1  10.77.0.11   2001:db8:77::11      pods n1-p1, n1-p2
   └── p-n2   n2  10.77.0.12   2001:db8:77::12      pods n2-p1, n2-p2`
	if diff := cmp.Diff(want, tp.Draw()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSpecRefused(t *testing.T) {
	for name, s := range map[string]Spec{
		"no nodes":            {Prefix: "fl", Bits4: 24},
		"too many nodes":      {Prefix: "fl", Nodes: 33, Bits4: 24},
		"too many pods":       {Prefix: "fl", Nodes: 1, PodsPerNode: 9, Bits4: 24},
		"too many namespaces": {Prefix: "fl", Nodes: 32, PodsPerNode: 3, Bits4: 24},
		"prefix too long":     {Prefix: "fl", Nodes: 1, Bits4: 25},
		"no prefix":           {Nodes: 1, Bits4: 24},
		"prefix leads out":    {Prefix: "../fl", Nodes: 1, Bits4: 24},
	} {
		if _, err := New(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Whatever the size, no two hosts or pods share a name, an address or a MAC,
// and every pod lies in its node's prefix.
func TestAddressesUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Prefix:      "fl",
			Nodes:       rapid.IntRange(1, MaxNodes).Draw(t, "nodes"),
			PodsPerNode: rapid.IntRange(0, MaxPodsPerNode).Draw(t, "pods"),
			Bits4:       rapid.IntRange(16, 24).Draw(t, "bits"),
		}
		tp, err := New(s)
		if err != nil {
			t.Skip(err.Error())
		}
		seen := make(map[any]bool)
		once := func(v any) {
			if seen[v] {
				t.Fatalf("%v is there twice", v)
			}
			seen[v] = true
		}
		for _, h := range tp.Hosts() {
			once(h.Name)
			once(h.MAC)
			once(h.Addr4.Addr())
			once(h.Addr6.Addr())
		}
		for _, n := range tp.Nodes {
			v4, v6 := podNet(n)
			for _, p := range tp.PodsOf(n.Name) {
				once(p.Name)
				once(p.Addr4)
				once(p.Addr6)
				if !v4.Contains(p.Addr4) || !v6.Contains(p.Addr6) {
					t.Fatalf("pod %s is outside %s, %s", p.Name, v4, v6)
				}
			}
		}
		if len(tp.Pods) != s.Nodes*s.PodsPerNode {
			t.Fatalf("%d pods", len(tp.Pods))
		}
		if !tp.Client.Addr4.Contains(netip.MustParseAddr("10.77.0.200")) {
			t.Fatal("the client can't reach the VIPs directly")
		}
	})
}
