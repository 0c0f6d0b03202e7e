package file

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long a directory must be left alone before it is read:
	// copying files into it takes several events.
	quiet = 50 * time.Millisecond
	// patience is how long a directory that is never left alone stays unread.
	patience = 500 * time.Millisecond
	// confirmation is how long a directory must be left alone before it is
	// believed that something is gone. A file that is written in place is empty
	// or cut off for a while, a directory that is mounted anew is empty, and both
	// read well: a VIP that is withdrawn for that long costs every connection,
	// one that is withdrawn a second late costs nothing.
	confirmation = time.Second
	// stubbornness is how long a directory that is never left alone, and that
	// has lacked something all the time, is not believed.
	stubbornness = 10 * time.Second
	// pollInterval is how often a directory is looked at all the same. What a
	// symbolic link leads to can change unseen, and the kernel's watches can be
	// used up (fs.inotify.max_user_instances is 128 on many systems).
	pollInterval = 2 * time.Second
)

// watcher tells of changes of a directory, its removal and its return.
type watcher struct {
	dir     string            // absolute
	notify  *fsnotify.Watcher // nil if the kernel has none to give
	changed chan struct{}     // buffered: a change that nobody has looked at yet
	done    chan struct{}     // closed when pump has returned
}

// newWatcher returns a watcher that works in any case, and why it only polls.
func newWatcher(dir string) (*watcher, error) {
	w := &watcher{dir: dir, changed: make(chan struct{}, 1), done: make(chan struct{})}
	abs, err := filepath.Abs(dir)
	if err == nil {
		w.dir = abs
		w.notify, err = fsnotify.NewWatcher()
	}
	if err != nil {
		close(w.done)
		return w, err
	}
	go w.pump()
	return w, nil
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
	<-w.done
}

// rearm watches what the path of the directory leads to now. The parent is
// watched too: there the directory is removed, made again or, as a symbolic
// link, swapped. To be called before the directory is read, so that no change
// is missed. What can't be watched is polled.
func (w *watcher) rearm() {
	if w.notify == nil {
		return
	}
	for _, d := range []string{filepath.Dir(w.dir), w.dir} {
		_ = w.notify.Remove(d) // it may not be what the path leads to any more
		_ = w.notify.Add(d)
	}
}

// pump turns the events that matter into changes. An error of the kernel's
// (its queue has overflowed) may stand for any event.
func (w *watcher) pump() {
	defer close(w.done)
	for {
		matters := true
		select {
		case ev, ok := <-w.notify.Events:
			if !ok {
				return
			}
			matters = w.matters(ev)
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
		}
		if !matters {
			continue
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// matters reports whether an event may have changed what is read: a manifest,
// the link ..data that Kubernetes swaps in a mounted ConfigMap, the directory.
func (w *watcher) matters(ev fsnotify.Event) bool {
	path := filepath.Clean(ev.Name)
	if path == w.dir {
		return true
	}
	name := filepath.Base(path)
	return filepath.Dir(path) == w.dir && (isManifest(name) || strings.HasPrefix(name, ".."))
}

// settle waits for a change and then for quiet after it. changed is false when
// there was none for the time of most.
func settle(ctx context.Context, changes <-chan struct{}, most time.Duration) (changed bool, err error) {
	none := time.NewTimer(most)
	defer none.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-none.C:
		return false, nil
	case <-changes:
	}
	still, late := time.NewTimer(quiet), time.NewTimer(patience)
	defer still.Stop()
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changes:
			still.Reset(quiet)
		case <-still.C:
			return true, nil
		case <-late.C:
			return true, nil
		}
	}
}
