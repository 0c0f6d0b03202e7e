package election_test

import (
	"flag"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/election/electiontest"
)

var (
	seeds = flag.Int("seeds", 0, "how many simulations to run (0: 2000, or 200 with -short or -race)")
	seed  = flag.Uint64("seed", 1, "the first seed")
)

// TestSimulation runs many worlds, each drawn from one seed, and requires that
// every promise is kept. A broken one is printed with a script that replays it.
func TestSimulation(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = 2000
		if testing.Short() || raceEnabled {
			n = 200
		}
	}
	var next atomic.Uint64
	next.Store(*seed)
	end := *seed + uint64(n)
	for range min(runtime.GOMAXPROCS(0), n) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for {
				s := next.Add(1) - 1
				if s >= end {
					return
				}
				if script, broken := electiontest.Simulate(s, ""); broken != "" {
					t.Errorf("seed %d: %s; this script replays it:\n%s", s, broken, script)
					return
				}
			}
		})
	}
}

// TestSimulationFindsBugs proves that the checks can fail: with a broken rule
// some seed soon breaks a promise, and its script replays it exactly.
func TestSimulationFindsBugs(t *testing.T) {
	for bug, want := range map[string]string{
		"no-yield":  "both answer",
		"no-epochs": "",
		"no-loss":   "",
	} {
		t.Run(bug, func(t *testing.T) {
			for s := range uint64(200) {
				script, broken := electiontest.Simulate(s, bug)
				if broken == "" || !strings.Contains(broken, want) {
					continue
				}
				out, env := electiontest.RunScript(script)
				if env.Broken() != broken {
					t.Errorf("replay: %q, want %q", env.Broken(), broken)
				}
				if !strings.Contains(out, "VIOLATION "+broken) {
					t.Errorf("the script's output does not tell of it:\n%s", out)
				}
				return
			}
			t.Error("200 seeds did not find it")
		})
	}
}
