package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// runTimeout bounds a run of a scenario, building and teardown included.
const runTimeout = 3 * time.Minute

// Run builds a network, plays a scenario on it and takes it down, whatever
// happens. The error says why the scenario could not be played; that something
// did not hold is in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	sc, err := find(o.Scenario)
	if err != nil {
		return Result{}, err
	}
	if err := preflight(o.Binary); err != nil {
		return Result{}, err
	}
	var worst Result
	for i := range max(1, o.Runs) {
		res, err := runOnce(ctx, o, sc)
		if err != nil {
			return Result{}, err
		}
		if !res.OK {
			return res, nil
		}
		if i == 0 || res.GapMs > worst.GapMs {
			worst = res
		}
	}
	return worst, nil
}

func runOnce(caller context.Context, o Options, sc scenario) (res Result, err error) {
	ctx, cancel := context.WithTimeoutCause(caller, runTimeout, fmt.Errorf("scenario %s took longer than %s", sc.Name, runTimeout))
	defer cancel()
	say := newNarrator(o.Out, o.Quiet)
	say.Step("%s: %s", sc.Name, sc.Summary)
	c, err := newCluster(ctx, say, sc.spec, o.Binary, o.Dir)
	if err != nil {
		return Result{}, err
	}
	s := &stage{cluster: c, checks: checks{tell: say}, vip: sc.spec.asked[0]}
	interrupted := false
	defer func() {
		down := s.close()
		if !o.Keep && down == nil && (interrupted || err == nil && res.OK) {
			down = os.RemoveAll(c.dir)
		}
		err = errors.Join(err, down)
	}()
	if err := sc.play(ctx, s); err != nil {
		if interrupted = caller.Err() != nil; interrupted {
			return Result{}, fmt.Errorf("play %s: %w", sc.Name, err)
		}
		return Result{}, errors.Join(fmt.Errorf("play %s: %w", sc.Name, err), s.evidence())
	}
	s.stopProbes()
	res = s.res
	res.Scenario, res.Notes, res.Checks, res.OK = sc.Name, s.notes, s.list, s.ok()
	if res.Notes == nil {
		res.Notes = []string{}
	}
	if !res.OK {
		if err := s.evidence(); err != nil {
			return res, err
		}
	}
	if !o.Quiet {
		s.table(o.Out)
		verdict := "all held"
		if !res.OK {
			verdict = "NOT all held"
		}
		fmt.Fprintf(o.Out, "%s: %s%s\n", sc.Name, verdict, keptAt(o.Keep, c.dir))
	}
	return res, nil
}

// keptAt says where the run's files are if they stay.
func keptAt(keep bool, dir string) string {
	if !keep {
		return ""
	}
	return "; files are in " + dir
}
