package membership

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// realtimePriority is the lowest there is: it is ahead of everything that is
// not real-time and behind everything that is.
const realtimePriority = 1

// goRealtime moves all threads of this process to the scheduling class SCHED_RR;
// those made later inherit it. On a machine that is busy with something else a
// thread of the ordinary class may be kept waiting for longer than the dead
// time, and its node looks dead. The kernel's limit for real-time tasks
// (95 % of the time by default) still protects the machine. Needs CAP_SYS_NICE.
func goRealtime() error { return schedule(unix.SCHED_RR, realtimePriority) }

// schedule gives all threads of this process a scheduling policy.
func schedule(policy, priority uint32) error {
	done := make(map[int]bool)
	for before := -1; len(done) > before; { // until no new thread has appeared
		before = len(done)
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || done[tid] {
				continue
			}
			attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}
			if err := unix.SchedSetAttr(tid, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("change scheduling policy: %w", err)
			}
			done[tid] = true
		}
	}
	return nil
}
