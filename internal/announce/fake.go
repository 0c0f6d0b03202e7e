package announce

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Fake stands in for an [Announcer] in tests of its callers: it announces
// whatever it is told at once, and prints it. It is safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	desired Desired
	until   time.Time
	report  []Status
	trouble map[Family]string
	events  chan struct{}
}

// NewFake returns a Fake that was told nothing yet.
func NewFake() *Fake { return &Fake{events: make(chan struct{}, 1), trouble: make(map[Family]string)} }

// Run waits until ctx is done.
func (f *Fake) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Set records d.
func (f *Fake) Set(d Desired) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.desired = Desired{Links: slices.Clone(d.Links)}
	for i := range f.desired.Links {
		l := &f.desired.Links[i]
		l.Members, l.Entries = slices.Clone(l.Members), slices.Clone(l.Entries)
	}
	return nil
}

// Extend records the fence.
func (f *Fake) Extend(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = until
}

// Fence returns what Extend was last called with.
func (f *Fake) Fence() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until
}

// Desired returns what Set was last called with.
func (f *Fake) Desired() Desired {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.desired
}

// Report makes Status return these for their interfaces and addresses, and
// delivers an event.
func (f *Fake) Report(s ...Status) {
	f.mu.Lock()
	f.report = s
	f.mu.Unlock()
	nudge(f.events)
}

// Ail makes Trouble return why for a family on every link.
func (f *Fake) Ail(family Family, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble[family] = why
}

// Trouble returns what Ail was told.
func (f *Fake) Trouble(_ string, family Family) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble[family]
}

// Status returns one Status for each entry: the reported one, or else
// Announcing on a link that is up and Waiting on one that is down.
func (f *Fake) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Status
	for _, l := range f.desired.Links {
		for _, e := range l.Entries {
			s := Status{Interface: l.Name, Addr: e.Addr, State: Announcing}
			if !l.Up {
				s.State, s.Err = Waiting, fmt.Sprintf("interface %s is down", l.Name)
			}
			if i := slices.IndexFunc(f.report, func(r Status) bool { return compareStatus(r, s) == 0 }); i >= 0 {
				s = f.report[i]
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, compareStatus)
	return all
}

// Events delivers after Report.
func (f *Fake) Events() <-chan struct{} { return f.events }

// String prints what is desired, one line for each link and entry.
func (f *Fake) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.desired.String()
}
