package probe

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReport(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	at := func(ms ...int) (ts []time.Time) {
		for _, m := range ms {
			ts = append(ts, zero.Add(time.Duration(m)*time.Millisecond))
		}
		return ts
	}
	for _, tc := range []struct {
		name     string
		sent     int
		end      int
		arrivals []int
		lost     int
		gap      int // ms
		gapAt    int // ms
	}{
		{"nothing lost", 4, 15, []int{0, 5, 10, 15}, 0, 0, 0},
		{"one lost", 4, 15, []int{0, 5, 15}, 1, 5, 5},
		{"silence in the middle", 41, 200, []int{0, 5, 150, 155, 160, 165, 170, 175, 180, 185, 190, 195, 200}, 28, 140, 5},
		{"silence at the beginning", 21, 100, []int{95, 100}, 19, 90, 0},
		{"silence at the end", 21, 100, []int{0, 5}, 19, 90, 5},
		{"never an answer", 21, 100, nil, 21, 95, 0},
		{"answers after the end", 3, 10, []int{0, 9, 18}, 0, 4, 0},
	} {
		r := report(tc.sent, zero, at(tc.end)[0], at(tc.arrivals...), 5*time.Millisecond)
		if r.Lost != tc.lost || r.Gap != time.Duration(tc.gap)*time.Millisecond {
			t.Errorf("%s: %+v, want lost %d, gap %d ms", tc.name, r, tc.lost, tc.gap)
		}
		if tc.gap > 0 && !r.GapAt.Equal(at(tc.gapAt)[0]) {
			t.Errorf("%s: gap began at %s, want %d ms", tc.name, r.GapAt.Sub(zero), tc.gapAt)
		}
	}
}

// The gap is the longest stretch of milliseconds in which nothing arrived,
// counted one by one.
func TestReportAgreesWithCounting(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		const end = 200
		interval := rapid.IntRange(1, 20).Draw(t, "interval")
		arrived := rapid.SliceOfN(rapid.Bool(), end+1, end+1).Draw(t, "arrived")
		var arrivals []time.Time
		longest, run := 0, 0
		for ms, here := range arrived {
			if ms > 0 {
				run++
			}
			if here {
				arrivals = append(arrivals, zero.Add(time.Duration(ms)*time.Millisecond))
			}
			longest = max(longest, run)
			if here {
				run = 0
			}
		}
		want := time.Duration(max(0, longest-interval)) * time.Millisecond
		r := report(end, zero, zero.Add(end*time.Millisecond), arrivals, time.Duration(interval)*time.Millisecond)
		if r.Gap != want {
			t.Fatalf("gap %s, counted %s", r.Gap, want)
		}
	})
}
