package announce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"time"
)

// observeEvery is how often the counts of the kernel are added to the metrics.
const observeEvery = time.Second

// runSockets opens and closes sockets and joins groups as the wires want it.
func (a *Announcer) runSockets(ctx context.Context) error {
	observe := time.NewTicker(observeEvery)
	defer observe.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		if at := a.reconcile(); !at.IsZero() {
			retry.Reset(time.Until(at))
		}
		select {
		case <-ctx.Done():
			a.shutdown()
			return nil
		case <-a.plumb:
		case <-retry.C:
		case <-observe.C:
			a.observe()
		}
	}
}

// observe looks at the ports now and then: at what they have counted, whether
// they still make sense, and whether those that have failed before can be
// relied on again.
func (a *Announcer) observe() {
	a.mu.Lock()
	defer a.unlock()
	now := time.Now()
	for _, w := range a.wires {
		a.fold(w)
		for f, p := range w.ports {
			if p == nil {
				continue
			}
			if err := p.socket.Check(); err != nil {
				a.fail(w, Family(f), err)
				continue
			}
			if w.retry[f].err == nil || now.Sub(p.opened) < maxBackoff {
				continue
			}
			w.retry[f] = backoff{}
			name := w.link.Name
			a.lines = append(a.lines, func(log *slog.Logger) {
				log.Info("announcing again", "interface", name, "family", Family(f))
			})
		}
	}
}

// shutdown closes everything and waits for the readers.
func (a *Announcer) shutdown() {
	a.mu.Lock()
	now := time.Now()
	for _, w := range a.wires {
		for f := range numFamilies {
			a.detach(w, f, now)
		}
		a.settle(w)
	}
	retired := a.retired
	a.retired = nil
	a.unlock()
	for _, p := range retired {
		p.close()
	}
	a.readers.Wait()
}

// detach takes a port away from its wire; it is closed later, without the lock.
func (a *Announcer) detach(w *wire, f Family, now time.Time) {
	p := w.ports[f]
	if p == nil {
		return
	}
	p.fold(a.ignored[f])
	w.ports[f] = nil
	w.setReady(f, false, now)
	a.retired = append(a.retired, p)
	nudge(a.plumb)
}

// fail takes a port away because of an error, or notes that none could be
// opened. The next attempt comes after a while.
func (a *Announcer) fail(w *wire, f Family, err error) {
	now := time.Now()
	a.detach(w, f, now)
	if w.retry[f].fail(err, now) {
		name := w.link.Name // as it is now
		a.lines = append(a.lines, func(log *slog.Logger) {
			log.Warn("not announcing for now", "interface", name, "family", f, "error", err)
		})
		nudge(a.events)
	}
	a.settle(w)
	nudge(a.plumb)
}

// task is a piece of work that is done without the lock.
type task func()

// reconcile does what there is to do and returns when to try again what failed,
// or the zero Time.
func (a *Announcer) reconcile() (retry time.Time) {
	for {
		var tasks []task
		tasks, retry = a.plan()
		if len(tasks) == 0 {
			return retry
		}
		for _, t := range tasks {
			t()
		}
	}
}

// plan returns the work that has to be done now, and when some that failed has
// to be tried again.
func (a *Announcer) plan() (tasks []task, retry time.Time) {
	a.mu.Lock()
	defer a.unlock()
	now := time.Now()
	for _, w := range a.wires {
		for f := range numFamilies {
			p := w.ports[f]
			if p != nil && p.broken != nil {
				a.fail(w, f, p.broken)
				p = nil
			}
			switch {
			case p != nil && p.groups != nil:
				if groups := w.groups(); !slices.Equal(groups, p.joined) {
					p.joined = groups
					tasks = append(tasks, func() { a.join(w, p, groups) })
				}
			case p != nil || !w.wants(f):
			case now.Before(w.retry[f].at):
				if at := w.retry[f].at; retry.IsZero() || at.Before(retry) {
					retry = at
				}
			default:
				link := w.link
				tasks = append(tasks, func() { a.open(w, f, link) })
			}
		}
	}
	for _, p := range a.retired {
		tasks = append(tasks, p.close)
	}
	a.retired = nil
	return tasks, retry
}

// open opens a port and connects it to its wire, unless the wire has changed
// meanwhile.
func (a *Announcer) open(w *wire, f Family, link Link) {
	p := &port{family: f, index: link.Index}
	err := func() (err error) {
		if p.socket, err = a.opts.Sockets.Open(link, f); err != nil {
			if errors.Is(err, os.ErrPermission) {
				return fmt.Errorf("open the %s socket on %s: no permission: the agent needs CAP_NET_RAW and CAP_BPF", f, link.Name)
			}
			return fmt.Errorf("open the %s socket on %s: %w", f, link.Name, err)
		}
		if f != NDP {
			return nil
		}
		if p.groups, err = a.opts.Sockets.Groups(link); err != nil {
			_ = p.socket.Close()
			return fmt.Errorf("listen to multicast on %s: %w", link.Name, err)
		}
		return nil
	}()

	a.mu.Lock()
	defer a.unlock()
	if !w.wants(f) || w.link.Index != link.Index || w.ports[f] != nil || !slices.Contains(a.wires, w) {
		if err == nil {
			a.retired = append(a.retired, p)
		}
		return
	}
	if err != nil {
		a.fail(w, f, err)
		return
	}
	now := time.Now()
	p.opened = now
	w.ports[f], w.worked[f] = p, true
	// The first changes tell the filter about every entry: they become ready.
	w.setReady(f, true, now)
	a.settle(w)
	a.readers.Go(func() { a.read(w, p) })
}

// join sets the groups of a port.
func (a *Announcer) join(w *wire, p *port, groups []netip.Addr) {
	err := p.groups.Set(groups)
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.unlock()
	if w.ports[p.family] == p {
		a.fail(w, p.family, err)
	}
}

// read handles the frames of a port until it is closed or fails.
func (a *Announcer) read(w *wire, p *port) {
	b := make([]byte, 2048)
	for {
		n, err := p.socket.Read(b)
		if err == nil {
			a.receive(w, p, b[:n])
			continue
		}
		a.mu.Lock()
		if w.ports[p.family] == p {
			a.fail(w, p.family, fmt.Errorf("read %s frames on %s: %w", p.family, w.link.Name, err))
		}
		a.unlock()
		return
	}
}
