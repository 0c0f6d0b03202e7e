package membership

import (
	"testing"

	"pgregory.net/rapid"
)

// The twin remembers every number.
func TestWindowAgreesWithASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		heard := make(map[uint64]bool)
		var top uint64
		at := rapid.SampledFrom([]uint64{0, 1000, 1<<64 - 500}).Draw(t, "start")
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			at += uint64(rapid.IntRange(-70, 80).Draw(t, "step"))
			want := !heard[at] && (len(heard) == 0 || at > top || top-at < windowSize)
			if got := w.admit(at); got != want {
				t.Fatalf("%d with top %d: %v, want %v", at, top, got, want)
			}
			if len(heard) == 0 || at > top {
				top = at
			}
			heard[at] = true
		}
	})
}
