package membership

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

func TestRealtime(t *testing.T) {
	linktest.RequirePrivilege(t)
	t.Cleanup(func() {
		if err := schedule(unix.SCHED_NORMAL, 0); err != nil {
			t.Errorf("go back to ordinary scheduling: %v", err)
		}
	})
	if err := goRealtime(); err != nil {
		t.Fatal(err)
	}
	policies := func() map[uint32]int {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		n := make(map[uint32]int)
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if a, err := unix.SchedGetAttr(tid, 0); err == nil {
				n[a.Policy]++
			}
		}
		return n
	}
	before := policies()
	// Threads made later are real-time too.
	const more = 4
	ready, leave := make(chan struct{}), make(chan struct{})
	for range more {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready <- struct{}{}
			<-leave
		}()
		<-ready
	}
	after := policies()
	close(leave)
	if before[unix.SCHED_NORMAL]+after[unix.SCHED_NORMAL] > 0 || after[unix.SCHED_RR] < more {
		t.Errorf("threads by policy: before %v, after %v", before, after)
	}
}
