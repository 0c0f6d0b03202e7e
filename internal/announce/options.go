package announce

import (
	"math/rand/v2"
	"time"
)

// Options are the settings of an [Announcer]. The zero value is the default.
type Options struct {
	// Refresh is the time between two announcements of an address that nothing
	// happens to, within 10 % at random. Switches forget a station after 300 s,
	// and a VIP never sends a packet otherwise. Default 60 s.
	Refresh time.Duration
	// Rate and Burst limit the frames to groups (announcements, probes,
	// defences), for each link, in frames per second and in frames. Answers to
	// single stations are not limited. Defaults 500 and 1000.
	Rate  float64
	Burst int
	// Sockets defaults to the real ones.
	Sockets Sockets
}

func (o Options) withDefaults() Options {
	if o.Refresh <= 0 {
		o.Refresh = time.Minute
	}
	if o.Rate <= 0 {
		o.Rate = 500
	}
	if o.Burst <= 0 {
		o.Burst = 1000
	}
	// Both forms of a gratuitous ARP go out together.
	o.Burst = max(o.Burst, 2)
	if o.Sockets == nil {
		o.Sockets = NewSockets()
	}
	return o
}

// jittered is the time to the next refresh of an address whose schedule says
// every, or, if that is zero, nothing.
func (o Options) jittered(every time.Duration) time.Duration {
	if every <= 0 {
		every = o.Refresh
	}
	return time.Duration(float64(every) * (0.9 + 0.2*rand.Float64()))
}
