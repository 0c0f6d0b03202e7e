package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// slice asks the fair scheduler for the shortest time slice there is (ns):
// short runs, soon. Linux ≥ 6.12 honours it (EEVDF, sched_attr.sched_runtime of
// an ordinary task), older kernels take no notice.
const slice = 100_000

// raisePriority puts every thread of this process in front of ordinary work: a
// heartbeat that is late because a batch job has the core looks like a death
// to the others. Threads that are made later inherit from these. It is not
// real-time priority, which cluster daemons in C like: a garbage collector
// must not run at it. Without CAP_SYS_NICE only the slice is asked for.
func raisePriority(log *slog.Logger) {
	err := eachThread(-20)
	if err != nil && eachThread(0) != nil {
		log.Info("runs at ordinary priority: on a starved machine heartbeats may be late; CAP_SYS_NICE helps", "err", err)
	}
}

// eachThread sets nice value and slice of every thread until no new ones appear.
func eachThread(nice int32) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: nice, Runtime: slice}
	done := make(map[int]bool)
	for {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list own threads: %w", err)
		}
		fresh := false
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || done[tid] {
				continue
			}
			done[tid], fresh = true, true
			if err := unix.SchedSetAttr(tid, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("set priority: %w", err)
			}
		}
		if !fresh {
			return nil
		}
	}
}
