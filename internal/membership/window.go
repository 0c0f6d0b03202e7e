package membership

// windowSize is how far behind the newest a sequence number may be and still
// be told from one that was heard: reordering is rare on one segment.
const windowSize = 64

// window remembers which of the last sequence numbers of one instance were
// heard (as RFC 4303 section 3.4.3 does). The zero value has heard none.
type window struct {
	any  bool
	top  uint64 // the highest heard
	seen uint64 // bit n: top-n was heard
}

// admit reports whether seq is heard for the first time, and remembers it.
// What is too old to tell counts as heard.
func (w *window) admit(seq uint64) bool {
	switch {
	case !w.any:
		*w = window{any: true, top: seq, seen: 1}
		return true
	case seq > w.top:
		w.seen = w.seen<<min(seq-w.top, windowSize) | 1
		w.top = seq
		return true
	case w.top-seq >= windowSize:
		return false
	}
	bit := uint64(1) << (w.top - seq)
	fresh := w.seen&bit == 0
	w.seen |= bit
	return fresh
}
