package file

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// Source publishes the snapshots of a directory.
type Source struct {
	dir     string
	log     *slog.Logger
	loads   *metrics.Vec[Result]
	updates chan *lb.Snapshot

	mu  sync.Mutex
	err error // of the latest load by Run
}

// New returns a Source for a directory, which need not exist yet.
func New(dir string, log *slog.Logger, set *metrics.Set) *Source {
	return &Source{
		dir:     dir,
		log:     log.With("source", dir),
		loads:   metrics.Register[Result](set, "file_load", "Loads of the manifest directory by result.", int(numResults)),
		updates: make(chan *lb.Snapshot, 1),
	}
}

// String names the task in logs.
func (s *Source) String() string { return "file source " + s.dir }

// Updates returns the channel of snapshots. It holds one: a snapshot that
// nobody has taken yet gives way to a newer one.
func (s *Source) Updates() <-chan *lb.Snapshot { return s.updates }

// Err returns why the latest load failed, or nil. The snapshot in use is then
// an older one, or there is none yet.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Load reads the directory once. Its errors are of type [*Error]. It doesn't
// matter to Run and counts nothing.
func (s *Source) Load() (*lb.Snapshot, error) {
	files, err := readDir(s.dir)
	if err != nil {
		return nil, err
	}
	return load(files)
}

// Run reads the directory now and after every change, and publishes what it
// has read if that differs. What takes something away is published only after
// the directory has stayed as it is for a while. It returns when ctx ends, with the error of ctx: no
// state of the directory stops it.
func (s *Source) Run(ctx context.Context) error {
	w, err := newWatcher(s.dir)
	defer w.close()
	if err != nil {
		s.log.Warn("can't watch the directory, polling it", "interval", pollInterval, "err", err)
	}
	var last *lb.Snapshot
	var d doubt
	for {
		w.rearm()
		// An error of look is one of the load, too.
		seen, _ := look(s.dir)
		snap := s.reload(last != nil)
		gone := takenAway(last, snap)
		began, wait := d.about(len(gone) > 0)
		if began {
			s.log.Info("something is gone, used once the directory stays unchanged", "gone", gone[0], "parts", len(gone), "for", confirmation)
		}
		if wait {
			stays, err := s.stays(ctx, w, seen)
			if err != nil {
				return err
			}
			if !stays {
				continue
			}
		}
		if snap != nil && !reflect.DeepEqual(snap, last) {
			last, d = snap, doubt{}
			s.publish(snap)
		}
		if err := s.wait(ctx, w, seen); err != nil {
			return err
		}
	}
}

// wait returns when the directory should be read again: it has changed since it
// was seen, or it was in a bad state a while ago.
func (s *Source) wait(ctx context.Context, w *watcher, seen []stamp) error {
	for {
		changed, err := settle(ctx, w.changed, pollInterval)
		if err != nil {
			return err
		}
		if changed || s.Err() != nil {
			return nil
		}
		if now, err := look(s.dir); err != nil || !slices.Equal(now, seen) {
			return nil
		}
	}
}

// reload loads and keeps the books: it returns nil for a bad load. published
// tells whether there was a good one before.
func (s *Source) reload(published bool) *lb.Snapshot {
	snap, err := s.Load()
	before := s.Err()
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.log.Info("manifests are good again")
	case err != nil && (before == nil || before.Error() != err.Error()):
		stays := "the last good state stays"
		if !published {
			stays = "there is no good state yet"
		}
		s.log.Error("manifests refused, "+stays, "err", err)
	}
	if err != nil {
		s.loads.Inc(Failed)
		return nil
	}
	s.loads.Inc(OK)
	return snap
}

// publish puts snap in the place of a snapshot that nobody has taken.
func (s *Source) publish(snap *lb.Snapshot) {
	select {
	case <-s.updates:
	default:
	}
	s.updates <- snap
}
