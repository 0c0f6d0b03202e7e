package membership

import (
	"net/netip"
	"time"
)

// Bounds of what a limiter lets through and remembers.
const (
	limitPeriod  = time.Minute
	limitSources = 128
)

// limiter lets one log line per minute through for each source and reason. A
// flood of made-up sources gets limitSources lines per minute and no more.
type limiter struct {
	seen  map[limitKey]limitEntry
	swept time.Time // when the full table was searched for old entries
}

type limitKey struct {
	drop Drop
	from netip.Addr
}

type limitEntry struct {
	at     time.Time // of the line
	silent uint64    // how many more since
}

func newLimiter() *limiter { return &limiter{seen: make(map[limitKey]limitEntry)} }

// allow reports whether to write a line now, and how many like it were kept
// back since the one before.
func (l *limiter) allow(now time.Time, drop Drop, from netip.Addr) (silent uint64, ok bool) {
	k := limitKey{drop, from}
	e, known := l.seen[k]
	if known && now.Sub(e.at) < limitPeriod {
		e.silent++
		l.seen[k] = e
		return 0, false
	}
	if !known && len(l.seen) >= limitSources && !l.sweep(now) {
		return 0, false
	}
	l.seen[k] = limitEntry{at: now}
	return e.silent, true
}

// sweep forgets what is old, and reports whether there is room now. It looks
// once per second at most, to be cheap in a flood.
func (l *limiter) sweep(now time.Time) bool {
	if now.Sub(l.swept) < time.Second {
		return false
	}
	l.swept = now
	for k, e := range l.seen {
		if now.Sub(e.at) >= limitPeriod {
			delete(l.seen, k)
		}
	}
	return len(l.seen) < limitSources
}
