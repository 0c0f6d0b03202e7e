package election

import (
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

const ms = time.Millisecond

func vips(n int) []VIP {
	list := make([]VIP, n)
	for i := range list {
		list[i].Addr = addr(i)
	}
	return list
}

// run ticks m as a caller does until t.
func run(m *Machine, t Time) {
	for {
		at, _ := m.Deadline()
		if at > t {
			return
		}
		m.Tick(at)
	}
}

func only(t *testing.T, m *Machine) Ownership {
	t.Helper()
	view := m.View()
	if len(view) != 1 {
		t.Fatalf("%d VIPs in the view, want 1", len(view))
	}
	return view[0]
}

// A caller that reads late must not take that for a silent peer: only
// membership knows whether everything was read.
func TestLateReaderTakesNothingOver(t *testing.T) {
	m := New(Config{Self: "a"}, 0)
	m.SetVIPs(0, vips(1))
	m.Heard(10*ms, "b", true, Beat{Claims: []Claim{{addr(0), 7}}})
	run(m, 2*time.Second)
	if o := only(t, m); o.State != Standby || o.Owner != "b" {
		t.Errorf("got %s of %q, want standby of b", o.State, o.Owner)
	}
	m.Lost(2*time.Second, "b")
	if o := only(t, m); o.State != Owner || o.Epoch != 8 || o.First {
		t.Errorf("after the loss: %+v, want the owner with epoch 8", o)
	}
}

// A peer that lives and has stopped claiming is silent about that VIP.
func TestWithdrawnClaimEnds(t *testing.T) {
	m := New(Config{Self: "a"}, 0)
	m.SetVIPs(0, vips(1))
	m.Heard(0, "b", true, Beat{Claims: []Claim{{addr(0), 7}}})
	for now := Time(0); now <= 600*ms; now += 25 * ms {
		m.Heard(now, "b", true, Beat{Refusal: lb.Draining})
		m.Tick(now)
	}
	if o := only(t, m); o.State != Owner || o.Epoch != 8 {
		t.Errorf("got %s with epoch %d, want the owner with 8", o.State, o.Epoch)
	}
}

func TestForeignClaimsAreRememberedWithinBounds(t *testing.T) {
	m := New(Config{Self: "a", BootEpoch: 5}, 0)
	foreign := func(i int) netip.Addr {
		return netip.AddrFrom4([4]byte{198, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	var b Beat
	for i := range maxRemembered + 1000 {
		b.Claims = append(b.Claims, Claim{foreign(i), 40})
	}
	m.Heard(100*ms, "b", true, b)
	if len(m.known) != maxRemembered {
		t.Fatalf("%d addresses known, want %d", len(m.known), maxRemembered)
	}
	m.Lost(200*ms, "b")
	m.SetVIPs(200*ms, []VIP{{Addr: foreign(3)}, {Addr: foreign(maxRemembered + 3)}})
	view := m.View()
	if o := view[0]; o.Epoch != 41 || o.First {
		t.Errorf("a remembered one: epoch %d first %t, want 41 false", o.Epoch, o.First)
	}
	if o := view[1]; o.Epoch != 5 || !o.First {
		t.Errorf("one that did not fit: epoch %d first %t, want 5 true", o.Epoch, o.First)
	}
	for now := Time(0); now < forgetAfter+2*forgetEvery; now += 140 * ms {
		m.Tick(250*ms + now)
	}
	if len(m.known) != 2 || len(m.members) != 1 {
		t.Errorf("%d addresses and %d members known after a long silence, want 2 and 1", len(m.known), len(m.members))
	}
}

func TestSameInputChangesNothing(t *testing.T) {
	m := New(Config{Self: "a"}, 0)
	list := []VIP{{Addr: addr(0), Refused: map[string]lb.Refusal{"b": lb.NotReady}}}
	for now := Time(0); now < 500*ms; now += 50 * ms {
		m.SetVIPs(now, list)
		m.SetSelf(now, lb.Eligible)
		m.Heard(now, "b", true, Beat{})
	}
	m.Take()
	version := m.Version()
	for now := 500 * ms; now < time.Second; now += 50 * ms {
		m.SetVIPs(now, list)
		m.SetSelf(now, lb.Eligible)
		m.Heard(now, "b", true, Beat{})
		m.Heard(now, "a", true, Beat{Claims: []Claim{{addr(0), 9}}}) // our own, looped back
		m.Tick(now)
	}
	if fx := m.Take(); len(fx.Transitions) > 0 || fx.SendNow || m.Version() != version {
		t.Errorf("effects %+v, version %d -> %d, want none and the same", fx, version, m.Version())
	}
}

func TestDrained(t *testing.T) {
	m := New(Config{Self: "a"}, 0)
	m.SetVIPs(0, vips(1))
	run(m, 200*ms)
	if m.Drained() {
		t.Error("drained without draining")
	}
	m.SetSelf(200*ms, lb.Draining)
	if !m.Drained() {
		t.Error("alone: nobody could take what is left, want drained")
	}
	m.Heard(210*ms, "b", true, Beat{})
	if m.Drained() {
		t.Error("b could take it: not drained")
	}
	h := m.Beat().Handovers
	if len(h) != 1 || h[0].To != "b" {
		t.Fatalf("handovers %+v, want one to b", h)
	}
	m.Heard(220*ms, "b", true, Beat{Claims: []Claim{{h[0].Addr, h[0].Epoch}}})
	if !m.Drained() || only(t, m).Owner != "b" {
		t.Errorf("b has it: drained %t, owner %q", m.Drained(), only(t, m).Owner)
	}
}

// A handover that has been overtaken is not obeyed.
func TestStaleHandoverIsIgnored(t *testing.T) {
	m := New(Config{Self: "a"}, 0)
	m.SetVIPs(0, vips(1))
	m.Heard(100*ms, "c", true, Beat{Claims: []Claim{{addr(0), 9}}})
	m.Heard(200*ms, "b", true, Beat{
		Claims:    []Claim{{addr(0), 7}},
		Handovers: []Handover{{addr(0), 8, "a"}},
	})
	if o := only(t, m); o.Owner != "c" {
		t.Errorf("owner %q, want c", o.Owner)
	}
}

func TestEnumsHaveNames(t *testing.T) {
	for s := Orphan; s <= Suspended; s++ {
		if s.String() == "unknown" {
			t.Errorf("state %d has no name", s)
		}
	}
	for c := range Change(Changes) {
		if c.String() == "" {
			t.Errorf("change %d has no name", c)
		}
	}
}

// settled returns a machine among five nodes with n VIPs, a fifth of them its
// own, and the beats of the others.
func settled(n int) (*Machine, map[string]Beat) {
	names := []string{"b", "c", "d", "e"}
	beats := make(map[string]Beat)
	for i := range n {
		if k := i % 5; k > 0 {
			b := beats[names[k-1]]
			b.Claims = append(b.Claims, Claim{addr(i), 1})
			beats[names[k-1]] = b
		}
	}
	m := New(Config{Self: "a"}, 0)
	m.SetVIPs(0, vips(n))
	for name, b := range beats {
		m.Heard(100*ms, name, true, b)
	}
	m.Tick(150 * ms)
	m.Take()
	return m, beats
}

// BenchmarkHeard is one claim in a beat that says nothing new.
func BenchmarkHeard(b *testing.B) {
	m, beats := settled(500)
	now := 150 * ms
	b.ReportAllocs()
	for b.Loop() {
		now += 50 * ms
		for name, beat := range beats {
			m.Heard(now, name, true, beat)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/400, "ns/claim")
}

// BenchmarkInterval is all that happens in one heartbeat interval in which
// nothing changes, with 5 000 VIPs.
func BenchmarkInterval(b *testing.B) {
	m, beats := settled(5000)
	now := 150 * ms
	b.ReportAllocs()
	for b.Loop() {
		now += 50 * ms
		for name, beat := range beats {
			m.Heard(now, name, true, beat)
		}
		m.Tick(now)
		m.Beat()
	}
}

// BenchmarkLost is the loss of a node of five with 5 000 VIPs.
func BenchmarkLost(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m, _ := settled(5000)
		b.StartTimer()
		m.Lost(200*ms, "b")
	}
}
