package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Dir is where the names are.
const Dir = "/run/netns"

// Namespace is a named network namespace, held open. It is safe for concurrent
// use.
type Namespace struct {
	name string
	mu   sync.RWMutex // held by those who use fd, so that Close doesn't pull it away
	fd   netns.NsHandle
}

// Create makes a namespace of that name. It is an error if there is one
// already: the caller may not own it.
func Create(name string) (*Namespace, error) {
	ns := &Namespace{name: name}
	err := isolated(func() error {
		fd, err := netns.NewNamed(name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			// The file may be there without the mount on it.
			os.Remove(ns.Path())
		}
		ns.fd = fd
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create network namespace %s: %w", name, err)
	}
	return ns, nil
}

// Open opens an existing namespace.
func Open(name string) (*Namespace, error) {
	fd, err := netns.GetFromName(name)
	if err != nil {
		return nil, fmt.Errorf("open network namespace %s: %w", name, err)
	}
	return &Namespace{name: name, fd: fd}, nil
}

// List returns the names that begin with prefix, sorted.
func List(prefix string) ([]string, error) {
	entries, err := os.ReadDir(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete removes the name. The kernel takes the namespace apart when nothing
// lives in it any more. A name that is not there is no error.
func Delete(name string) error {
	path := filepath.Join(Dir, name)
	// EINVAL: nothing is mounted there, as after a crash half way through Create.
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("unmount network namespace %s: %w", name, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	return nil
}

// Name returns the name.
func (n *Namespace) Name() string { return n.name }

// Path returns the file that nsenter takes.
func (n *Namespace) Path() string { return filepath.Join(Dir, n.name) }

// FD returns the descriptor that keeps the namespace open.
func (n *Namespace) FD() int { return int(n.fd) }

// Close lets go of the namespace without removing its name.
func (n *Namespace) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.fd.IsOpen() {
		return nil
	}
	return n.fd.Close()
}

// Do runs fn on a thread inside the namespace. Sockets that fn makes and
// processes that it starts stay in the namespace; goroutines that it starts
// don't.
func (n *Namespace) Do(fn func() error) error {
	return isolated(func() error {
		if err := n.enter(); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", n.name, err)
		}
		return fn()
	})
}

func (n *Namespace) enter() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return netns.Set(n.fd)
}

// Netlink returns a netlink handle that works inside the namespace.
func (n *Namespace) Netlink() (*netlink.Handle, error) {
	h, err := netlink.NewHandleAt(n.fd)
	if err != nil {
		return nil, fmt.Errorf("open netlink in %s: %w", n.name, err)
	}
	return h, nil
}

// isolated runs fn on a thread of its own that is put back into the namespace
// that it came from, or left to die if that can't be done.
func isolated(fn func() error) error {
	errc := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := netns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			errc <- fmt.Errorf("find the current network namespace: %w", err)
			return
		}
		defer home.Close()
		err = fn()
		if back := netns.Set(home); back == nil {
			runtime.UnlockOSThread()
		}
		errc <- err
	}()
	return <-errc
}
