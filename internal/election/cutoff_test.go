package election

import (
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// What a node says about having been cut off ends by time, and whoever sends
// its beats must be told: the version changes.
func TestCutOffEnds(t *testing.T) {
	m := New(Config{Self: "n1"}, 0)
	m.SetVIPs(0, []VIP{{Addr: netip.MustParseAddr("192.0.2.1")}})
	now := Time(0)
	advance := func(d time.Duration, hear bool) {
		for end := now + d; now < end; {
			now += 50 * time.Millisecond
			if hear {
				m.Heard(now, "n2", true, Beat{})
			}
			m.Tick(now)
		}
	}
	advance(time.Second, false)
	if got := m.Beat().Refusal; got != lb.HearsNobody {
		t.Fatalf("alone since the start: %v", got)
	}
	m.Heard(now, "n2", true, Beat{})
	before := m.Version()
	if got := m.Beat().Refusal; got != lb.HearsNobody {
		t.Errorf("with the first word of a peer: %v", got)
	}
	if at, ok := m.Deadline(); !ok || at > now+150*time.Millisecond {
		t.Errorf("deadline %v, the end of it is due at %v", at, now+150*time.Millisecond)
	}
	advance(300*time.Millisecond, true)
	if got := m.Beat().Refusal; got != lb.Eligible || m.Version() == before {
		t.Errorf("a dead time later: %v, version changed: %v", got, m.Version() != before)
	}
}

// A peer that was lost and is back may have told the network that our VIPs are
// at its place, and give way before we hear of it: the network is told again.
func TestReturnIsToldAgain(t *testing.T) {
	m := New(Config{Self: "n1"}, 0)
	m.SetVIPs(0, []VIP{{Addr: netip.MustParseAddr("192.0.2.1")}})
	now := Time(0)
	tick := func(d time.Duration) {
		for end := now + d; now < end; {
			now += 50 * time.Millisecond
			m.Tick(now)
		}
	}
	tick(time.Second)
	generation := func() uint64 { return m.View()[0].Generation }
	before := generation()
	m.Heard(now, "n2", true, Beat{})
	if got := generation(); got != before {
		t.Errorf("a newcomer: generation %d, want %d", got, before)
	}
	tick(100 * time.Millisecond)
	m.Lost(now, "n2")
	tick(time.Second)
	version := m.Version()
	m.Heard(now, "n2", true, Beat{})
	if got := generation(); got != before+1 || m.Version() == version {
		t.Errorf("a return: generation %d, want %d", got, before+1)
	}
	m.Heard(now, "n2", true, Beat{})
	if got := generation(); got != before+1 {
		t.Errorf("its next word: generation %d, want %d", got, before+1)
	}
}
