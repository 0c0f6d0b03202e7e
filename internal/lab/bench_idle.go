package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// ticksPerSecond is USER_HZ, the unit of times in /proc, on every Linux.
	ticksPerSecond = 100
	// What an agent may cost when nothing happens.
	wantedCPU = 1.0      // percent of one core
	wantedRSS = 60 << 20 // bytes
)

// BenchIdle runs five agents with 500 VIPs in all and measures what one costs
// when nothing happens. It returns ErrTooSlow if that is more than the project
// promises.
func BenchIdle(ctx context.Context, o BenchOptions, d time.Duration) (err error) {
	if err := preflight(o.Binary); err != nil {
		return err
	}
	say := newNarrator(o.Out, false)
	c, err := newCluster(ctx, say, scaleSpec(), o.Binary, o.Dir)
	if err != nil {
		return err
	}
	s := &stage{cluster: c, checks: checks{tell: say}, vip: c.spec.asked[0]}
	defer func() {
		down := s.close()
		// Numbers that are too high leave nothing to look at.
		if down == nil && (err == nil || errors.Is(err, ErrTooSlow)) {
			down = os.RemoveAll(c.dir)
		}
		err = errors.Join(err, down)
	}()
	if _, err := s.open(ctx); err != nil {
		return err
	}
	// The announcements of the beginning go on for five seconds; and nobody asks
	// from here on.
	if err := s.stopWatching(); err != nil {
		return err
	}
	say.Step("waiting until all is said")
	if err := s.watch(ctx, 7*time.Second); err != nil {
		return err
	}
	say.Step("measuring for %s on %s", d, machine())
	before := make(map[string]uint64)
	for n, a := range s.agents {
		if before[n], err = cpuTicks(a.pid()); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := s.watch(ctx, d); err != nil {
		return err
	}
	elapsed := time.Since(start)
	var most, all uint64
	var rss int64
	for n, a := range s.agents {
		after, err := cpuTicks(a.pid())
		if err != nil {
			return err
		}
		size, err := residentBytes(a.pid())
		if err != nil {
			return err
		}
		all += after - before[n]
		most, rss = max(most, after-before[n]), max(rss, size)
	}
	share := func(ticks, agents uint64) float64 {
		return 100 * float64(ticks) / ticksPerSecond / float64(agents) / elapsed.Seconds()
	}
	// The agents do the same: what differs between them is the machine's noise.
	cpu, busiest := share(all, uint64(len(s.agents))), share(most, 1)
	s.add("an agent's share of a core", cpu < wantedCPU, fmt.Sprintf("less than %.0f %%", wantedCPU), fmt.Sprintf("%.2f %%", cpu))
	s.add("largest agent's resident memory", rss < wantedRSS, fmt.Sprintf("less than %d MB", wantedRSS>>20), fmt.Sprintf("%.1f MB", float64(rss)/(1<<20)))
	fmt.Fprintf(o.Out, "idle: 500 VIPs on 5 nodes: %.2f %% of a core each (the busiest %.2f %%), %.1f MB (%s)\n", cpu, busiest, float64(rss)/(1<<20), machine())
	if !s.ok() {
		return fmt.Errorf("%w: an idle agent costs too much", ErrTooSlow)
	}
	return nil
}

// cpuTicks returns the processor time that a process has used.
func cpuTicks(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("measure process %d: %w", pid, err)
	}
	st, err := parseStat(string(b))
	if err != nil {
		return 0, fmt.Errorf("measure process %d: %w", pid, err)
	}
	return st.cpu, nil
}

// residentBytes returns a process's resident memory.
func residentBytes(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("measure process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("measure process %d: %w", pid, err)
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("measure process %d: no VmRSS", pid)
}
