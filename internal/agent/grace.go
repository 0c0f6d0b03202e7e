package agent

import (
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// grace remembers since when the snapshot calls a node NotReady.
type grace map[string]time.Time

// see takes the nodes of a new snapshot.
func (g grace) see(nodes []lb.Node, now time.Time) {
	still := make(map[string]bool)
	for _, n := range nodes {
		if !n.NotReady {
			continue
		}
		still[n.Name] = true
		if _, known := g[n.Name]; !known {
			g[n.Name] = now
		}
	}
	for name := range g {
		if !still[name] {
			delete(g, name)
		}
	}
}

// over returns the nodes that have been NotReady for [NotReadyGrace], or nil.
func (g grace) over(now time.Time) map[string]bool {
	var over map[string]bool
	for name, since := range g {
		if now.Sub(since) < NotReadyGrace {
			continue
		}
		if over == nil {
			over = make(map[string]bool)
		}
		over[name] = true
	}
	return over
}
