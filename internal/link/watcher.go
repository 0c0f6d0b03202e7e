package link

import (
	"context"
	"log/slog"
	"time"
)

// Waits between two attempts to watch, doubled from the first to the last.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// Watcher publishes the State of this machine's interfaces, or rather of the
// network namespace that the thread of [Watcher.Run] is in.
type Watcher struct {
	latest
	log    *slog.Logger
	kernel kernel
}

// NewWatcher returns a Watcher that Run starts.
func NewWatcher(log *slog.Logger) *Watcher {
	return &Watcher{latest: newLatest(), log: log, kernel: rtnetlink{}}
}

// Run watches until ctx is done. When the kernel drops events because this
// process was too late to read them, everything is read anew.
func (w *Watcher) Run(ctx context.Context) error {
	wait := firstRetry
	for {
		begun := time.Now()
		err := w.watch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(begun) > lastRetry {
			wait = firstRetry
		}
		w.log.Warn("interface events were missed, reading everything anew", "err", err, "in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, lastRetry)
	}
}

// watch subscribes, reads everything, and then follows the events until the
// stream breaks off or ctx is done. Events from before the dump are applied
// once more; as each stream is in order, that settles on the truth.
func (w *Watcher) watch(ctx context.Context) error {
	sub, err := w.kernel.subscribe()
	if err != nil {
		return err
	}
	defer sub.close()
	t, err := w.kernel.dump()
	if err != nil {
		return err
	}
	w.announce(t.state())
	for {
		whole := true
		select {
		case <-ctx.Done():
			return nil
		case u, ok := <-sub.links:
			if !ok {
				return sub.err()
			}
			whole = t.applyLink(u)
		case u, ok := <-sub.addrs:
			if !ok {
				return sub.err()
			}
			t.applyAddr(u)
		}
		if !w.applyQueued(t, sub) {
			whole = false
		}
		if !whole {
			if t, err = w.kernel.dump(); err != nil {
				return err
			}
		}
		w.announce(t.state())
	}
}

// applyQueued takes the events that are there already, so that a burst is one
// update. It reports false when a dump is needed. A closed channel is left to
// the caller, who meets it next.
func (w *Watcher) applyQueued(t *table, sub *subscription) bool {
	whole := true
	for range cap(sub.links) + cap(sub.addrs) {
		select {
		case u, ok := <-sub.links:
			if !ok {
				return whole
			}
			whole = t.applyLink(u) && whole
		case u, ok := <-sub.addrs:
			if !ok {
				return whole
			}
			t.applyAddr(u)
		default:
			return whole
		}
	}
	return whole
}

// announce publishes s if it says anything new.
func (w *Watcher) announce(s State) {
	was := w.Current()
	if was.Interfaces != nil && was.Equal(s) {
		return
	}
	for _, c := range compare(was, s) {
		w.log.Debug("interface changed", "interface", c.name, "change", c.what)
	}
	w.publish(s)
}

// difference is what happened to one interface.
type difference struct{ name, what string }

// compare says in words how b differs from a.
func compare(a, b State) []difference {
	var out []difference
	for _, i := range b.Interfaces {
		was, ok := a.ByName(i.Name)
		switch {
		case !ok:
			out = append(out, difference{i.Name, "appeared"})
		case !was.Equal(i):
			out = append(out, difference{i.Name, describe(was, i)})
		}
	}
	for _, i := range a.Interfaces {
		if _, ok := b.ByName(i.Name); !ok {
			out = append(out, difference{i.Name, "vanished"})
		}
	}
	return out
}

// describe names the most important thing in which an interface changed.
func describe(was, is Interface) string {
	switch {
	case was.Index != is.Index:
		return "replaced"
	case was.Usable() && !is.Usable():
		return "down"
	case !was.Usable() && is.Usable():
		return "up"
	case was.MAC != is.MAC:
		return "mac"
	}
	return "attributes"
}
