package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Processes returns the ids of the processes whose main thread lives in the
// namespace of that name, our own process left out.
func Processes(name string) ([]int, error) {
	var want unix.Stat_t
	if err := unix.Stat(filepath.Join(Dir, name), &want); err != nil {
		return nil, fmt.Errorf("find network namespace %s: %w", name, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var have unix.Stat_t
		// A process may end while we look.
		if unix.Stat(filepath.Join("/proc", e.Name(), "ns/net"), &have) != nil {
			continue
		}
		if have.Dev == want.Dev && have.Ino == want.Ino {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
