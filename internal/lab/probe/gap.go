package probe

import (
	"time"
)

// UDPReport is what a UDP probe saw.
type UDPReport struct {
	Sent, Lost int
	// Gap is the longest time without an answer, less the interval between
	// probes: 0 for a service that answers everything at once.
	Gap time.Duration
	// GapAt is when that silence began.
	GapAt time.Time
}

// report computes a UDPReport. arrivals are the times of the first answer to
// each probe that was answered, in order of arrival; the probes were sent from
// begin on, interval apart, the last one at end.
func report(sent int, begin, end time.Time, arrivals []time.Time, interval time.Duration) UDPReport {
	r := UDPReport{Sent: sent, Lost: sent - len(arrivals)}
	last := begin
	silence := func(until time.Time) {
		if d := until.Sub(last) - interval; d > r.Gap {
			r.Gap, r.GapAt = d, last
		}
	}
	for _, at := range arrivals {
		silence(at)
		last = at
	}
	// Answers may go on after the last probe was sent.
	if end.After(last) {
		silence(end)
	}
	return r
}
