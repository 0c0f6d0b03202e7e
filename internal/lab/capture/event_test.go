package capture

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var zero = time.Unix(1_700_000_000, 0)

// parseEvents reads "port@ms" words.
func parseEvents(t *testing.T, s string) []Event {
	t.Helper()
	var es []Event
	for _, w := range strings.Fields(s) {
		var ms int
		port, at, _ := strings.Cut(w, "@")
		if _, err := fmt.Sscan(at, &ms); err != nil {
			t.Fatal(err)
		}
		es = append(es, Event{zero.Add(time.Duration(ms) * time.Millisecond), port, netip.MustParseAddr("10.77.0.200")})
	}
	return es
}

func TestDuplicates(t *testing.T) {
	for _, tc := range []struct{ name, events, want string }{
		{"nobody", "", ""},
		{"one owner", "a@0 a@20 a@40", ""},
		{"takeover after silence", "a@0 a@20 b@160 b@180", ""},
		{"handover without a gap", "a@0 a@20 b@40 b@60", ""},
		{"one late answer of the old owner", "a@0 a@20 b@40 a@45 b@60",
			"10.77.0.200 answered by [a b] at once for 6ms"},
		{"both all the time", "a@0 b@0 a@20 b@20 a@40 b@40",
			"10.77.0.200 answered by [a b] at once for 41ms"},
		{"back and forth with pauses", "a@0 b@200 b@220 a@400 a@420", ""},
		{"old owner wakes up among answers of the new", "a@0 b@200 b@220 a@230 b@240",
			"10.77.0.200 answered by [a b] at once for 1ms"},
		{"three", "a@0 b@0 c@0 a@50 b@50 c@50",
			"10.77.0.200 answered by [a b c] at once for 51ms"},
		{"out of order", "b@60 a@20 b@40 a@0", ""},
	} {
		var got []string
		for _, d := range Duplicates(parseEvents(t, tc.events), 100*time.Millisecond) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, diff)
		}
	}
}

// slowDuplicate looks at every millisecond and asks every port whether the
// answers around it prove that it answers then.
func slowDuplicate(events []Event, window time.Duration, length int) time.Duration {
	var total time.Duration
	for ms := range length {
		at := zero.Add(time.Duration(ms) * time.Millisecond)
		ports := make(map[string]bool)
		for _, e := range events {
			if e.At.Equal(at) {
				ports[e.Port] = true
			}
			for _, f := range events {
				if e.Port == f.Port && e.At.Before(at) && f.At.After(at) && between(events, e, f) && f.At.Sub(e.At) <= window {
					ports[e.Port] = true
				}
			}
		}
		if len(ports) > 1 {
			total += time.Millisecond
		}
	}
	return total
}

// between reports whether e and f are neighbours among the answers of a port.
func between(events []Event, e, f Event) bool {
	for _, g := range events {
		if g.Port == e.Port && g.At.After(e.At) && g.At.Before(f.At) {
			return false
		}
	}
	return true
}

func TestDuplicatesAgreeWithSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 120
		var events []Event
		for range rapid.IntRange(0, 14).Draw(t, "n") {
			events = append(events, Event{
				zero.Add(time.Duration(rapid.IntRange(0, length-2).Draw(t, "ms")) * time.Millisecond),
				rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "port"),
				netip.MustParseAddr("10.77.0.200"),
			})
		}
		window := time.Duration(rapid.IntRange(1, 40).Draw(t, "window")) * time.Millisecond
		want := slowDuplicate(events, window, length)
		var got time.Duration
		for _, d := range Duplicates(events, window) {
			got += d.Time
		}
		if got != want {
			t.Fatalf("got %s, slowly %s", got, want)
		}
	})
}

func TestMoves(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a@0 a@20": 0, "a@0 b@10 b@20": 1, "b@20 a@0 a@30": 2} {
		if got := Moves(parseEvents(t, s))[netip.MustParseAddr("10.77.0.200")]; got != want {
			t.Errorf("%q: %d moves, want %d", s, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	events := parseEvents(t, "a@0 b@20 a@10")
	addr := events[0].Addr
	if got := Owners(events, zero)[addr]; got != "b" {
		t.Errorf("last answer by %q, want b", got)
	}
	if got, ok := Owners(events, zero.Add(30*time.Millisecond))[addr]; ok {
		t.Errorf("nobody answered since, got %q", got)
	}
}
