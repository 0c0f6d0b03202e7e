package metrics

import (
	"fmt"
	"sync/atomic"
)

// Reason is an enum with a fixed small range whose String is its label value.
type Reason interface {
	~uint8
	fmt.Stringer
}

// Vec counts events by reason. It is safe for concurrent use and never
// allocates after NewVec.
type Vec[R Reason] struct {
	name, help string
	counts     []atomic.Uint64
}

// NewVec returns a Vec for the reasons 0 … n-1. The name is snake_case without
// prefix and suffix: "arp_ignored" becomes fairlead_arp_ignored_total.
func NewVec[R Reason](name, help string, n int) *Vec[R] {
	return &Vec[R]{name: name, help: help, counts: make([]atomic.Uint64, n)}
}

// Inc adds one for r. A reason outside the range is a bug of ours.
func (v *Vec[R]) Inc(r R) { v.counts[r].Add(1) }

// Add adds n for r.
func (v *Vec[R]) Add(r R, n uint64) { v.counts[r].Add(n) }

// Get returns the count of r.
func (v *Vec[R]) Get(r R) uint64 { return v.counts[r].Load() }

// each calls f with every label and count.
func (v *Vec[R]) each(f func(label string, n uint64)) {
	for i := range v.counts {
		f(R(i).String(), v.counts[i].Load())
	}
}

func (v *Vec[R]) describe() (name, help string) { return v.name, v.help }
