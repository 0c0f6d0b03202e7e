package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrTooSlow is returned by a benchmark whose numbers are not reached.
var ErrTooSlow = errors.New("the numbers are not reached")

// What a client may notice of an owner that dies, over many runs.
const (
	wantedMedian = 200 * time.Millisecond
	wantedP95    = 300 * time.Millisecond
)

// BenchFailover runs owner-crash many times and prints the distribution of the
// silence that the client saw. It returns ErrTooSlow if that is longer than
// the project promises.
func BenchFailover(ctx context.Context, o BenchOptions, runs int) error {
	say := newNarrator(o.Out, false)
	say.Step("owner-crash, %d runs on %s", runs, machine())
	var gaps []time.Duration
	for i := range runs {
		res, err := Run(ctx, Options{Binary: o.Binary, Scenario: "owner-crash", Dir: o.Dir, Out: o.Out, Quiet: true})
		if err != nil {
			return fmt.Errorf("run %d: %w", i+1, err)
		}
		gap := time.Duration(res.GapMs) * time.Millisecond
		gaps = append(gaps, gap)
		say.Info("run %2d of %d: silence %s, %d of %d probes lost, two owners for %d ms",
			i+1, runs, millis(gap), res.UDPLost, res.UDPSent, res.DuplicateOwnerMs)
		if !res.OK {
			say.Fail("run %d: a check of the scenario did not hold", i+1)
		}
	}
	median, p95, longest := percentile(gaps, 50), percentile(gaps, 95), percentile(gaps, 100)
	fmt.Fprintf(o.Out, "owner-crash: silence p50 %s, p95 %s, max %s over %d runs (%s)\n",
		millis(median), millis(p95), millis(longest), runs, machine())
	if median > wantedMedian || p95 > wantedP95 {
		return fmt.Errorf("%w: wanted p50 at most %s, p95 at most %s", ErrTooSlow, millis(wantedMedian), millis(wantedP95))
	}
	return nil
}

// percentile returns the smallest value that p percent of the values don't
// exceed (nearest rank); 0 of none.
func percentile(values []time.Duration, p int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

// machine describes where numbers come from: cores, processor, kernel.
func machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if name, value, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel := "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%d × %s, Linux %s", runtime.NumCPU(), model, kernel)
}
