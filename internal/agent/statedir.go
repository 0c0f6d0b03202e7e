package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrStateDirInUse is returned when another agent holds the state directory.
var ErrStateDirInUse = errors.New("in use by another agent")

// SocketPath is the control socket of the agent that holds the state
// directory dir.
func SocketPath(dir string) string { return filepath.Join(dir, "agent.sock") }

// stateDir is the agent's own directory, locked for as long as it runs.
type stateDir struct {
	path string
	lock *os.File
}

// openStateDir makes dir if needed and locks it. The lock is the kernel's
// (flock), so a killed agent leaves none behind.
func openStateDir(dir string) (*stateDir, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make state dir: %w", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock of state dir: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("state dir %s: %w (pid %s): stop it or give this one its own --state-dir",
				dir, ErrStateDirInUse, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock state dir %s: %w", dir, err)
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return &stateDir{path: dir, lock: f}, nil
}

// Close gives the directory free.
func (d *stateDir) Close() error {
	os.Remove(SocketPath(d.path))
	return d.lock.Close()
}
