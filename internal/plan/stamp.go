package plan

import "time"

// Stamp is the time in the rows of a history: seconds, modulo 2¹⁶. Once in 18
// hours an old stamp passes for a new one, which costs new flows a hop.
func Stamp(now time.Duration) uint16 { return uint16(now / time.Second) }

// within reports whether a stamp is less than window before now.
func within(stamp uint16, now, window time.Duration) bool {
	return Stamp(now)-stamp < uint16(window/time.Second)
}
