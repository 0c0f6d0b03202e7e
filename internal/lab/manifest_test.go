package lab

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-lb/fairlead/internal/lab/topo"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The manifests are compared as text: a reader sees what a lab's agents see.
func TestManifests(t *testing.T) {
	tp, err := topo.New(topo.Spec{Prefix: "fl", Nodes: 2, PodsPerNode: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	services := baseServices()[:1]
	m := manifests{dir: t.TempDir(), staging: t.TempDir()}
	for name, objects := range map[string][]object{
		"nodes.yaml":     nodeObjects(tp.Nodes, map[string]bool{"n2": true}),
		"pool.yaml":      {poolObject(allVIPs(baseServices()))},
		"services.yaml":  serviceObjects(services),
		"endpoints.yaml": sliceObjects(services, tp.Pods, func(n string) bool { return n == "n1" }),
	} {
		if err := m.write(name, objects); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	left, err := os.ReadDir(m.staging)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the staging directory: %v, %v", left, err)
	}
}

func TestFrontends(t *testing.T) {
	tp, err := topo.New(topo.Spec{Prefix: "fl", Nodes: 2, PodsPerNode: 2, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	fs := frontends(baseServices(), tp.Pods)
	if len(fs) != 2*2*3 {
		t.Fatalf("%d frontends", len(fs))
	}
	for _, f := range fs {
		if len(f.Endpoints) != 4 {
			t.Errorf("%s has endpoints %v", f.Addr, f.Endpoints)
		}
		for _, e := range f.Endpoints {
			if e.Addr().Is4() != f.Addr.Addr().Is4() {
				t.Errorf("%s leads to %s of the other family", f.Addr, e)
			}
		}
	}
}

func TestScaleServicesAreDistinct(t *testing.T) {
	addrs := allVIPs(scaleServices(250))
	if len(addrs) != 500 {
		t.Fatalf("%d VIPs", len(addrs))
	}
	for i := 1; i < len(addrs); i++ {
		if addrs[i] == addrs[i-1] {
			t.Fatalf("%s twice", addrs[i])
		}
	}
}
