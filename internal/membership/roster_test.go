package membership

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// rosterTest feeds a roster at 50 ms beats and writes down what it says.
type rosterTest struct {
	t   *testing.T
	r   *roster
	now time.Time
	seq map[uint64]uint64 // by instance
	out []string
}

const (
	testInterval = 50 * time.Millisecond
	testDead     = 150 * time.Millisecond
)

func newRosterTest(t *testing.T) *rosterTest {
	return &rosterTest{
		t: t, now: time.Unix(1000, 0), seq: make(map[uint64]uint64),
		r: newRoster(self{node: "me", instance: 99, started: 99}, "eth0", testInterval, testDead),
	}
}

// from is what a datagram of a node says.
func (x *rosterTest) from(node string, instance, started uint64) *datagram {
	x.seq[instance]++
	return &datagram{node: []byte(node), instance: instance, started: started, sequence: x.seq[instance], parts: 1}
}

// hear feeds a datagram and notes the events, or the reason against it.
func (x *rosterTest) hear(d *datagram) {
	events, drop := x.r.hear(x.now, d, netip.Addr{}, nil)
	for _, ev := range events {
		x.note(ev)
	}
	if drop != NotDropped {
		x.out = append(x.out, drop.String())
	}
}

func (x *rosterTest) wait(d time.Duration) {
	x.now = x.now.Add(d)
	for _, ev := range x.r.expire(x.now, nil) {
		x.note(ev)
	}
}

func (x *rosterTest) note(ev Event) {
	what := "heard"
	if ev.Lost {
		what = "lost"
	}
	x.out = append(x.out, fmt.Sprintf("%s-%s/%d", what, ev.Peer.Node, ev.Peer.Instance))
}

// expect compares what was noted since the last time.
func (x *rosterTest) expect(want string) {
	x.t.Helper()
	if got := strings.Join(x.out, " "); got != want {
		x.t.Errorf("got  %s\nwant %s", got, want)
	}
	x.out = nil
}

func TestSilenceIsLoss(t *testing.T) {
	x := newRosterTest(t)
	x.hear(x.from("n1", 1, 1))
	x.wait(testDead - 1)
	x.expect("heard-n1/1")
	if got, want := x.r.next(), x.now.Add(1); !got.Equal(want) {
		t.Errorf("next judgement at %v, want %v", got, want)
	}
	x.hear(x.from("n2", 2, 2))
	x.wait(1)
	x.expect("heard-n2/2 lost-n1/1")
	x.wait(testDead)
	x.expect("lost-n2/2")
	if !x.r.next().IsZero() {
		t.Error("a judgement is due although nobody is heard")
	}
	x.hear(x.from("n1", 1, 1))
	x.expect("heard-n1/1")
}

func TestReplaysAreDropped(t *testing.T) {
	x := newRosterTest(t)
	first := x.from("n1", 1, 1)
	x.hear(first)
	x.hear(first)
	x.expect("heard-n1/1 replayed")
	// Beyond its death too: a recording doesn't raise the dead.
	x.wait(testDead)
	x.hear(first)
	x.expect("lost-n1/1 replayed")
	// Nor after a restart.
	x.hear(x.from("n1", 2, 2))
	x.wait(testDead)
	x.hear(first)
	x.expect("heard-n1/2 lost-n1/2 replayed")
}

func TestOwnAndOwnName(t *testing.T) {
	x := newRosterTest(t)
	x.hear(x.from("me", 99, 99))
	x.hear(x.from("me", 1, 1))
	x.hear(x.from("me", 100, 100))
	x.expect("own duplicate_node duplicate_node")
}

// A restart is seen as soon as the former instance has missed a beat, not only
// when it is dead.
func TestRestartIsSeenSoon(t *testing.T) {
	x := newRosterTest(t)
	x.hear(x.from("n1", 1, 1))
	x.wait(testInterval / 2)
	x.hear(x.from("n1", 2, 2))
	x.expect("heard-n1/1 restarting")
	x.wait(testInterval)
	x.hear(x.from("n1", 2, 2))
	x.expect("restarting")
	x.wait(testInterval / 2)
	x.hear(x.from("n1", 2, 2))
	x.expect("lost-n1/1 heard-n1/2")
	// Should the former one speak again, then it lives.
	x.hear(x.from("n1", 1, 1))
	x.expect("duplicate_node")
}

// A restarted machine whose clock has gone back is taken when the former
// instance is dead.
func TestRestartWithAnOlderClock(t *testing.T) {
	x := newRosterTest(t)
	x.hear(x.from("n1", 1, 1000))
	x.wait(testInterval)
	x.hear(x.from("n1", 2, 3))
	x.expect("heard-n1/1 replayed")
	x.wait(testDead)
	x.hear(x.from("n1", 2, 3))
	x.expect("lost-n1/1 heard-n1/2")
}

// Of two living instances of one name the first keeps it until it is lost,
// whichever is newer.
func TestDuplicateNames(t *testing.T) {
	for _, started := range []uint64{1, 3} {
		x := newRosterTest(t)
		x.hear(x.from("n1", 10, 2))
		for range 2 {
			x.wait(testInterval / 2)
			x.hear(x.from("n1", 11, started))
			x.wait(testInterval / 2)
			x.hear(x.from("n1", 10, 2))
		}
		x.out = nil // the first words of the second may be a restart or a copy
		for range 3 {
			x.wait(testInterval / 2)
			x.hear(x.from("n1", 11, started))
			x.wait(testInterval / 2)
			x.hear(x.from("n1", 10, 2))
		}
		x.expect("duplicate_node heard-n1/10 duplicate_node heard-n1/10 duplicate_node heard-n1/10")
		x.wait(testDead)
		x.hear(x.from("n1", 11, started))
		x.hear(x.from("n1", 10, 2))
		x.wait(testInterval)
		x.hear(x.from("n1", 10, 2))
		x.out = x.out[2:] // lost and heard
		x.wait(testInterval / 2)
		x.hear(x.from("n1", 11, started))
		x.hear(x.from("n1", 10, 2))
		if last := x.out[len(x.out)-1]; last != "duplicate_node" {
			t.Errorf("the name was taken back: %v", x.out)
		}
	}
}

func TestHearsUs(t *testing.T) {
	x := newRosterTest(t)
	hears := func(d *datagram) bool {
		events, _ := x.r.hear(x.now, d, netip.Addr{}, nil)
		return events[len(events)-1].Peer.HearsUs
	}
	if hears(x.from("n1", 1, 1)) {
		t.Error("a peer that lists nobody hears us")
	}
	d := x.from("n1", 1, 1)
	d.heard = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 5), 99)
	if !hears(d) {
		t.Error("a peer that lists us doesn't hear us")
	}
	// The list may be spread over the parts of a heartbeat.
	if x.now = x.now.Add(testDead - 1); !hears(x.from("n1", 1, 1)) {
		t.Error("a peer that listed us a moment ago doesn't hear us")
	}
	if x.now = x.now.Add(1); hears(x.from("n1", 1, 1)) {
		t.Error("a peer that hasn't listed us for the dead time hears us")
	}
}

func TestRosterIsBounded(t *testing.T) {
	x := newRosterTest(t)
	for n := range maxMembers {
		x.hear(x.from(fmt.Sprint("n", n), uint64(1000+n), 1))
	}
	x.out = nil
	x.hear(x.from("one-more", 1, 1))
	x.expect("too_many_nodes")
	x.wait(testDead)
	x.out = nil
	x.hear(x.from("one-more", 1, 1))
	x.expect("heard-one-more/1")
	for n := range 100 {
		x.hear(x.from("one-more", uint64(5000+n), uint64(100-n)))
	}
	if len(x.r.members) > maxMembers || len(x.r.members["one-more"].known) > maxInstances {
		t.Errorf("%d members, %d instances", len(x.r.members), len(x.r.members["one-more"].known))
	}
}

// The cache of decoded beats changes nothing but the cost.
func TestCachedBeats(t *testing.T) {
	x := newRosterTest(t)
	beats := []election.Beat{
		{Claims: []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 1}}},
		{Claims: []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 1}}, Refusal: wireRefusals[6]},
		{Claims: []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 2}}},
		{},
		{Handovers: []election.Handover{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 2, To: "me"}}},
		{Claims: []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 2}}},
	}
	for n := range 3 * len(beats) {
		want := beats[n/3]
		m := message{node: "n1", instance: 1, started: 1, sequence: uint64(n), part: uint16(n % 2), parts: uint16(2 + n%3), beat: want}
		d, drop := parse(m.append(nil))
		if drop != NotDropped {
			t.Fatal(drop)
		}
		events, drop := x.r.hear(x.now, &d, netip.Addr{}, nil)
		if drop != NotDropped || fmt.Sprint(events[0].Beat) != fmt.Sprint(want) {
			t.Errorf("beat %d: %v %v, want %v", n, drop, events, want)
		}
	}
}

// A time in which this process did not run is nobody's silence, and makes
// nobody heard later than now.
func TestExcuse(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	r := newRoster(self{node: "n1", instance: 1}, "eth0", 50*time.Millisecond, 150*time.Millisecond)
	hear := func(ms int, node string, sequence uint64) {
		t.Helper()
		m := message{node: node, instance: uint64(node[1]), sequence: sequence, parts: 1}
		d, drop := parse(m.append(nil))
		if drop == NotDropped {
			_, drop = r.hear(at(ms), &d, netip.MustParseAddr("192.0.2.1"), nil)
		}
		if drop != NotDropped {
			t.Fatalf("%s: %s", node, drop)
		}
	}
	hear(0, "n2", 1)
	hear(40, "n3", 1)
	// Asleep from 50 to 1050.
	r.excuse(at(1050), time.Second)
	if got := r.next(); !got.Equal(at(1150)) {
		t.Errorf("judged at %v, want 1.15 s", got.Sub(t0))
	}
	hear(1060, "n3", 2)
	r.excuse(at(1061), time.Second)
	if got := r.expire(at(1210), nil); len(got) != 0 {
		t.Errorf("lost: %v", got)
	}
	if got := r.expire(at(1211), nil); len(got) != 2 {
		t.Errorf("lost: %v", got)
	}
}
