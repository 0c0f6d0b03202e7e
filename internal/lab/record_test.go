package lab

import (
	"os"
	"strings"
	"testing"
)

func TestProcess(t *testing.T) {
	me, err := describe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !me.alive() {
		t.Error("this process does not run")
	}
	later := me
	later.Start++
	if later.alive() {
		t.Error("a process with the id of another is taken for it")
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 42 42 0 -1 4194560 100 0 0 0 7 3 0 0 20 0 8 0 12345 1000 200"
	for in, want := range map[string]procStat{
		"42 (fairlead)" + rest:    {cpu: 10, start: 12345},
		"42 (a) b (c))" + rest:    {cpu: 10, start: 12345},
		"42 (fairlead) S 1 42 42": {},
		"42 fairlead S 1":         {},
	} {
		got, err := parseStat(in)
		if got != want || (err != nil) != (want == procStat{}) {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("42 (fairlead) S 1 42 42 0 -1 4194560 100 0 0 0 7 3 0 0 20 0 8 0 12345 1000 200")
	f.Fuzz(func(t *testing.T, s string) {
		if st, err := parseStat(s); err != nil && st != (procStat{}) {
			t.Fatalf("%+v with %v", st, err)
		}
	})
}

// Whatever a record says, what is removed for it looks like a lab's.
func FuzzParseRecord(f *testing.F) {
	f.Add(`{"spec":{"Prefix":"fl12ab","Nodes":3,"PodsPerNode":2,"Bits4":24},"dir":"/tmp/fairlead-lab-1","owner":{"pid":1,"start":2}}`)
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRecord([]byte(s), "f")
		if err != nil {
			return
		}
		if len(r.Spec.Prefix) != 6 || !strings.HasPrefix(r.Spec.Prefix, "fl") || !strings.Contains(r.Dir, "/"+dirPrefix) {
			t.Fatalf("accepted %q, %q", r.Spec.Prefix, r.Dir)
		}
	})
}

func TestRecordRefused(t *testing.T) {
	for name, s := range map[string]string{
		"not JSON":            `x`,
		"another's namespace": `{"spec":{"Prefix":"kube"},"dir":"/tmp/fairlead-lab-1"}`,
		"another's directory": `{"spec":{"Prefix":"fl12ab"},"dir":"/etc"}`,
		"no directory":        `{"spec":{"Prefix":"fl12ab"}}`,
		"leads out":           `{"spec":{"Prefix":"fl12ab"},"dir":"/tmp/fairlead-lab-1/../../etc"}`,
	} {
		if _, err := parseRecord([]byte(s), "f"); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
