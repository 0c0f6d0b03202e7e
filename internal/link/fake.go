package link

import "context"

// Fake is a Watcher whose states are made up by a test.
type Fake struct {
	latest
}

// NewFake returns a Fake whose first update is s.
func NewFake(s State) *Fake {
	f := &Fake{latest: newLatest()}
	f.publish(s)
	return f
}

// Set makes s the state from now on.
func (f *Fake) Set(s State) { f.publish(s) }

// Run waits until ctx is done.
func (f *Fake) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
