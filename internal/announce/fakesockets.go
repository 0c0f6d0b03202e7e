package announce

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-lb/fairlead/internal/packet"
)

// FakeSockets is [Sockets] in memory. Frames reach the announcer with Deliver,
// and its own are in Sent. It is safe for concurrent use.
type FakeSockets struct {
	mu      sync.Mutex
	open    map[fakeKey]*fakeSocket
	refused map[fakeKey]error
	sent    []FakeFrame
	joined  map[string][]netip.Addr
	opened  int
}

type fakeKey struct {
	ifname string
	family Family
}

// FakeFrame is a frame that was sent.
type FakeFrame struct {
	At        time.Time
	Interface string
	Frame     packet.Frame
}

// NewFakeSockets returns FakeSockets on which everything can be opened.
func NewFakeSockets() *FakeSockets {
	return &FakeSockets{
		open:    make(map[fakeKey]*fakeSocket),
		refused: make(map[fakeKey]error),
		joined:  make(map[string][]netip.Addr),
	}
}

// Open implements [Sockets].
func (f *FakeSockets) Open(link Link, family Family) (Socket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fakeKey{link.Name, family}
	if err := f.refused[key]; err != nil {
		return nil, err
	}
	s := &fakeSocket{
		segment: f, key: key,
		// No test delivers as many frames without the announcer reading.
		inbox: make(chan []byte, 1024),
		fail:  make(chan error, 1),
		done:  make(chan struct{}),
		want:  make(map[netip.Addr]Interest),
	}
	f.open[key] = s
	f.opened++
	return s, nil
}

// Groups implements [Sockets].
func (f *FakeSockets) Groups(link Link) (Groups, error) {
	return fakeGroups{f, link.Name}, nil
}

// Check implements [Socket]: what Refuse says holds for open sockets too.
func (s *fakeSocket) Check() error {
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	return s.segment.refused[s.key]
}

// Refuse makes Open and Check fail with err from now on, or succeed if it is nil.
func (f *FakeSockets) Refuse(ifname string, family Family, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[fakeKey{ifname, family}] = err
}

// Fail makes the open socket fail, as if the interface had gone away.
func (f *FakeSockets) Fail(ifname string, family Family, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.open[fakeKey{ifname, family}]; s != nil {
		s.fail <- err
	}
}

// Deliver brings a frame to an interface. It reports whether the announcer was
// woken by it.
func (f *FakeSockets) Deliver(ifname string, b []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	family := ARP
	if len(b) >= 14 && b[12] == 0x86 {
		family = NDP
	}
	s := f.open[fakeKey{ifname, family}]
	if s == nil {
		return false
	}
	if why := sieve(family, b, s.want); why != Heeded {
		s.dropped[why]++
		return false
	}
	s.inbox <- slices.Clone(b)
	return true
}

// Sent returns the frames that were sent since the last call.
func (f *FakeSockets) Sent() []FakeFrame {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.sent
	f.sent = nil
	return sent
}

// Opened returns how many sockets have been opened so far.
func (f *FakeSockets) Opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// Joined returns the multicast groups joined on an interface, sorted.
func (f *FakeSockets) Joined(ifname string) []netip.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.joined[ifname])
}

// String prints the open sockets with what their filters let through, sorted.
func (f *FakeSockets) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for key, s := range f.open {
		for addr, what := range s.want {
			line := fmt.Sprintf("%s %s %s", key.ifname, key.family, addr)
			if what&Questions != 0 {
				line += " questions"
			}
			if what&Claims != 0 {
				line += " claims"
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

type fakeSocket struct {
	segment *FakeSockets
	key     fakeKey
	inbox   chan []byte
	fail    chan error
	done    chan struct{}
	closed  bool
	want    map[netip.Addr]Interest
	dropped Counts
}

func (s *fakeSocket) Read(b []byte) (int, error) {
	select {
	case f := <-s.inbox:
		return copy(b, f), nil
	case err := <-s.fail:
		return 0, err
	case <-s.done:
		return 0, net.ErrClosed
	}
}

func (s *fakeSocket) Write(b []byte) (int, error) {
	f, why := packet.Parse(b)
	if why != packet.Accepted {
		return 0, errors.New("sent a frame that is " + why.String())
	}
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	s.segment.sent = append(s.segment.sent, FakeFrame{At: time.Now(), Interface: s.key.ifname, Frame: f})
	return len(b), nil
}

func (s *fakeSocket) Want(addr netip.Addr, what Interest) error {
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	if what == 0 {
		delete(s.want, addr)
	} else {
		s.want[addr] = what
	}
	return nil
}

func (s *fakeSocket) Dropped() (Counts, error) {
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	return s.dropped, nil
}

func (s *fakeSocket) Close() error {
	s.segment.mu.Lock()
	defer s.segment.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	close(s.done)
	if s.segment.open[s.key] == s {
		delete(s.segment.open, s.key)
	}
	return nil
}

type fakeGroups struct {
	segment *FakeSockets
	ifname  string
}

func (g fakeGroups) Set(groups []netip.Addr) error {
	g.segment.mu.Lock()
	defer g.segment.mu.Unlock()
	g.segment.joined[g.ifname] = slices.Clone(groups)
	return nil
}

func (g fakeGroups) Close() error { return g.Set(nil) }
