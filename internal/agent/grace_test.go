package agent

import (
	"maps"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func TestGrace(t *testing.T) {
	t0 := time.Unix(1000, 0)
	notReady := []lb.Node{{Name: "n1"}, {Name: "n2", NotReady: true}}
	g := make(grace)
	g.see(notReady, t0)
	g.see(notReady, t0.Add(5*time.Second)) // the clock started with the first
	if got := g.over(t0.Add(NotReadyGrace - 1)); got != nil {
		t.Errorf("within the grace: %v", got)
	}
	if got := g.over(t0.Add(NotReadyGrace)); !maps.Equal(got, map[string]bool{"n2": true}) {
		t.Errorf("after the grace: %v", got)
	}
	g.see([]lb.Node{{Name: "n2"}}, t0.Add(time.Minute))
	g.see(notReady, t0.Add(2*time.Minute))
	if got := g.over(t0.Add(2*time.Minute + NotReadyGrace - 1)); got != nil {
		t.Errorf("a node that was ready in between: %v", got)
	}
}
