package announce

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// wire is a segment with the sockets that connect to it.
type wire struct {
	*segment
	ports [numFamilies]*port
	retry [numFamilies]backoff
	// worked is true once a socket of the family was open.
	worked [numFamilies]bool
}

// port is an open socket.
type port struct {
	family Family
	index  int // of the interface
	opened time.Time
	socket Socket
	groups Groups       // NDP only
	joined []netip.Addr // what groups was last set to
	folded Counts       // of the filter, already in the metrics
	broken error        // why it has to be replaced
}

// wants reports whether the wire should have a port of the family.
func (w *wire) wants(f Family) bool { return w.link.Up && (w.has(f) || w.link.Hold[f]) }

// why says in one line why nothing of the family is announced.
func (w *wire) why(f Family) string {
	switch {
	case !w.link.Up:
		return fmt.Sprintf("interface %s is down", w.link.Name)
	case w.retry[f].err != nil:
		return w.retry[f].err.Error()
	}
	return fmt.Sprintf("the %s socket on %s is being opened", f, w.link.Name)
}

// want tells the filter about a change. A filter that can't be told is no
// filter: the port has to be replaced.
func (p *port) want(c change) {
	what := c.to.interest()
	if c.removed {
		what = 0
	}
	if err := p.socket.Want(c.addr, what); err != nil && p.broken == nil {
		p.broken = fmt.Errorf("let frames about %s through the filter: %w", c.addr, err)
	}
}

// fold adds to ignored what the filter has dropped since the last time.
func (p *port) fold(ignored *metrics.Vec[Ignored]) {
	now, err := p.socket.Dropped()
	if err != nil {
		return // the next time, or never: a count is not worth a socket
	}
	for i, n := range now {
		if d := n - p.folded[i]; d > 0 {
			ignored.Add(Ignored(i), d)
		}
	}
	p.folded = now
}

// close frees what the port holds.
func (p *port) close() {
	// Nothing is to be done about an error: what can fail to close here is gone.
	_ = p.socket.Close()
	if p.groups != nil {
		_ = p.groups.Close()
	}
}

// Limits of the time between two attempts to open a socket.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// graceTrouble is how long a socket that worked before may be gone before its
// family counts as being in trouble: an interface that flaps is back by then.
const graceTrouble = time.Second

// trouble says why nothing of the family could be announced, in one line, or ""
// if something could or that is not known (yet).
func (w *wire) trouble(f Family, now time.Time) string {
	if !w.wants(f) || w.ports[f] != nil || w.retry[f].err == nil {
		return ""
	}
	if w.worked[f] && now.Sub(w.retry[f].since) < graceTrouble {
		return ""
	}
	return w.retry[f].err.Error()
}

// backoff spaces attempts to open a socket.
type backoff struct {
	err   error
	since time.Time // of the first failure
	delay time.Duration
	at    time.Time // not before
}

// fail notes a failed attempt. It reports whether the reason is a new one.
func (b *backoff) fail(err error, now time.Time) (news bool) {
	news = b.err == nil || b.err.Error() != err.Error()
	if b.err == nil {
		b.since = now
	}
	b.err = err
	b.delay = min(max(2*b.delay, minBackoff), maxBackoff)
	b.at = now.Add(b.delay)
	return news
}
