package link

import "sync"

// latest hands the newest State to one reader, who never sees an older one
// after a newer.
type latest struct {
	mu      sync.Mutex
	current State
	updates chan State // buffer 1
}

func newLatest() latest { return latest{updates: make(chan State, 1)} }

// publish makes s the current state and replaces an update not yet read.
func (l *latest) publish(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = s
	select {
	case <-l.updates:
	default:
	}
	l.updates <- s
}

// Updates delivers the state at the start and after every change; a reader who
// is late gets the newest only.
func (l *latest) Updates() <-chan State { return l.updates }

// Current returns the newest state.
func (l *latest) Current() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}
