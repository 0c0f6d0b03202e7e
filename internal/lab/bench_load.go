package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
)

// BenchLoad keeps every core busy with something else and counts how often a
// VIP changed its owner although nobody had failed. It returns ErrTooSlow if
// any did.
func BenchLoad(ctx context.Context, o BenchOptions, d time.Duration) (err error) {
	if err := preflight(o.Binary); err != nil {
		return err
	}
	say := newNarrator(o.Out, false)
	c, err := newCluster(ctx, say, baseSpec(), o.Binary, o.Dir)
	if err != nil {
		return err
	}
	s := &stage{cluster: c, checks: checks{tell: say}, vip: c.spec.asked[0]}
	defer func() {
		err = errors.Join(err, s.close())
		if err == nil {
			err = os.RemoveAll(c.dir)
		}
	}()
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.note("load average before: %s", loadAverage())
	stop := burn(runtime.NumCPU())
	defer stop()
	say.Step("%d cores are kept busy for %s on %s", runtime.NumCPU(), d, machine())
	for end := time.Now().Add(d); time.Now().Before(end); {
		if !sleep(ctx, min(15*time.Second, time.Until(end))) {
			return context.Cause(ctx)
		}
		say.Info("%d moves so far, %s to go", s.moves(), time.Until(end).Round(time.Second))
	}
	after, err := s.settle(ctx, s.nodeNames())
	if err != nil {
		return err
	}
	s.count("VIPs with another owner than before", 0, len(after.moved(before)))
	s.count("moves that the switch saw", 0, s.moves())
	s.singleOwner(twoOwners, maxDuplicate, nil)
	epochs := 0
	for a, was := range before {
		if after[a].epoch != was.epoch {
			epochs++
		}
	}
	s.count("VIPs claimed anew", 0, epochs)
	fmt.Fprintf(o.Out, "load: %d false takeovers in %s (%s)\n", s.moves(), d, machine())
	if !s.ok() {
		return errors.Join(fmt.Errorf("%w: a VIP moved although no node had failed", ErrTooSlow), s.evidence())
	}
	return nil
}

// moves returns how many moves of VIPs the switch saw.
func (s *stage) moves() int {
	n := 0
	for _, m := range capture.Moves(s.sightings(nil)) {
		n += m
	}
	return n
}

// loadAverage returns the machine's load averages as the kernel prints them:
// what else runs on it is part of the number.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// burn keeps n threads busy until the returned function is called.
func burn(n int) (stop func()) {
	// The burners get processors of their own in the Go scheduler: they compete
	// with the lab as they do with everybody else, for the machine's cores.
	was := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(was + n)
	var done atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for !done.Load() {
			}
		})
	}
	return func() {
		done.Store(true)
		wg.Wait()
		runtime.GOMAXPROCS(was)
	}
}
