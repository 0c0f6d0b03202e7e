package membership

import (
	"net/netip"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	l := newLimiter()
	now := time.Unix(1000, 0)
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	lines := 0
	for range 60 * 20 { // a minute of heartbeats
		if _, ok := l.allow(now, ForeignKey, a); ok {
			lines++
		}
		now = now.Add(50 * time.Millisecond)
	}
	if lines != 1 {
		t.Errorf("%d lines in a minute, want 1", lines)
	}
	if silent, ok := l.allow(now, ForeignKey, a); !ok || silent != 60*20-1 {
		t.Errorf("after a minute: %v, %d kept back, want a line and %d", ok, silent, 60*20-1)
	}
	if _, ok := l.allow(now, BadMAC, a); !ok {
		t.Error("another reason was kept back")
	}
	if _, ok := l.allow(now, ForeignKey, b); !ok {
		t.Error("another source was kept back")
	}
}

func TestLimiterIsBounded(t *testing.T) {
	l := newLimiter()
	now := time.Unix(1000, 0)
	lines := 0
	for n := range 100000 {
		from := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
		if _, ok := l.allow(now, Malformed, from); ok {
			lines++
		}
		now = now.Add(time.Millisecond) // 100 s in all
	}
	if want := 2 * limitSources; lines > want || len(l.seen) > limitSources {
		t.Errorf("%d lines and %d sources remembered, want at most %d and %d", lines, len(l.seen), want, limitSources)
	}
}
