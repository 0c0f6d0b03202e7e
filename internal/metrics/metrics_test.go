package metrics

import (
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

type colour uint8

func (c colour) String() string { return [...]string{"red", "green"}[c] }

func TestSet(t *testing.T) {
	s := NewSet()
	seen := Register[colour](s, "seen", "Colours seen.", 2)
	lost := Register[colour](s, "lost", "Colours lost.", 2)
	seen.Inc(1)
	seen.Add(1, 4)
	lost.Inc(0)
	if got := seen.Get(1); got != 5 {
		t.Errorf("Get = %d, want 5", got)
	}
	want := map[string]uint64{"seen_green": 5, "lost_red": 1}
	if got := s.Map(); !maps.Equal(got, want) {
		t.Errorf("Map = %v, want %v", got, want)
	}

	// Every reason is a series from the start, so that rates have a zero.
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s)
	err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP fairlead_lost_total Colours lost.
# TYPE fairlead_lost_total counter
fairlead_lost_total{reason="green"} 0
fairlead_lost_total{reason="red"} 1
# HELP fairlead_seen_total Colours seen.
# TYPE fairlead_seen_total counter
fairlead_seen_total{reason="green"} 5
fairlead_seen_total{reason="red"} 0
`))
	if err != nil {
		t.Error(err)
	}
}

func TestVecDoesNotAllocate(t *testing.T) {
	v := NewVec[colour]("seen", "", 2)
	if n := testing.AllocsPerRun(100, func() { v.Inc(0) }); n != 0 {
		t.Errorf("Inc allocates %v times", n)
	}
}
