package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// fakeSource is a Source whose snapshots a test makes up.
type fakeSource struct {
	updates chan *lb.Snapshot
	mu      sync.Mutex
	err     error
}

func (s *fakeSource) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (s *fakeSource) Updates() <-chan *lb.Snapshot { return s.updates }

func (s *fakeSource) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *fakeSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// fakeMembers is a Members that records what is published and hears what a
// test says.
type fakeMembers struct {
	events chan membership.Event
	mu     sync.Mutex
	links  []membership.Link
	beats  map[string]election.Beat
	urgent int
}

func (m *fakeMembers) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (m *fakeMembers) Set(l []membership.Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = slices.Clone(l)
	return nil
}

func (m *fakeMembers) Publish(ifname string, b election.Beat, now bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beats[ifname] = b
	if now {
		m.urgent++
	}
}

func (m *fakeMembers) Confirm() {}

func (m *fakeMembers) Events() <-chan membership.Event { return m.events }

func (m *fakeMembers) Links() []membership.LinkStatus { return nil }

func (m *fakeMembers) DeadTime() time.Duration { return 150 * time.Millisecond }

func (m *fakeMembers) beat(ifname string) election.Beat {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.beats[ifname]
}

// world is an agent's loop between fakes, under virtual time.
type world struct {
	*Agent
	t       *testing.T
	source  *fakeSource
	links   *link.Fake
	members *fakeMembers
	network *announce.Fake
	log     *strings.Builder
	stop    chan struct{}
	done    chan error
}

var eth0 = link.Interface{
	Name: "eth0", Index: 2, MAC: lb.MAC{2, 0, 0, 0, 0, 0x11}, MTU: 1500, Up: true, Carrier: true,
	Addrs: []netip.Prefix{netip.MustParsePrefix("10.77.0.11/24")},
}

// inWorld runs body with the loop of node n1 running.
func inWorld(t *testing.T, body func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t:       t,
			source:  &fakeSource{updates: make(chan *lb.Snapshot)},
			links:   link.NewFake(link.State{Interfaces: []link.Interface{eth0}}),
			members: &fakeMembers{events: make(chan membership.Event), beats: make(map[string]election.Beat)},
			network: announce.NewFake(),
			log:     &strings.Builder{},
			stop:    make(chan struct{}),
			done:    make(chan error, 1),
		}
		w.Agent = New(Config{Node: "n1", Forwarding: lb.ForwardingKubeProxy, DrainTimeout: DefaultDrainTimeout}, Parts{
			Source: w.source, Links: w.links, Members: w.members, Announcer: w.network,
			Log: slog.New(slog.NewTextHandler(w.log, nil)), Metrics: metrics.NewSet(),
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.done <- w.loop(ctx, w.stop) }()
		body(w)
		cancel()
		synctest.Wait()
	})
}

// after lets the loop run for d.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// snapshot has nodes n1, n2 and n3 and the services given.
func snapshot(services ...lb.Service) *lb.Snapshot {
	s := &lb.Snapshot{Services: services}
	for i := range 3 {
		s.Nodes = append(s.Nodes, lb.Node{Name: fmt.Sprintf("n%d", i+1), Addresses: []netip.Addr{addr(fmt.Sprintf("10.77.0.%d", 11+i))}})
	}
	return s
}

// says has a peer send a heartbeat with these claims.
func (w *world) says(node string, claims ...election.Claim) {
	w.members.events <- membership.Event{Peer: heard(node), Beat: election.Beat{Claims: claims}}
}

// heard is a peer that was heard just now.
func heard(node string) membership.Peer {
	return membership.Peer{Node: node, Interface: "eth0", MAC: lb.MAC{2, 0, 0, 0, 0, 0x12}, HearsUs: true, LastHeard: time.Now()}
}

// falls has a peer be judged dead.
func (w *world) falls(node string) {
	w.members.events <- membership.Event{Peer: heard(node), Lost: true}
}

// expect compares what the announcer was told, one "address …" an entry.
func (w *world) expect(addrs ...string) {
	w.t.Helper()
	var got []string
	for _, l := range w.network.Desired().Links {
		for _, e := range l.Entries {
			got = append(got, e.Addr.String())
		}
	}
	if !slices.Equal(got, addrs) {
		w.t.Errorf("announced %v, want %v\n%s", got, addrs, w.log)
	}
}

// vip returns the status row of an address.
func (w *world) vip(a string) VIPStatus {
	w.t.Helper()
	st, err := w.state(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range st.(Status).VIPs {
		if v.Address == a {
			return v
		}
	}
	w.t.Fatalf("no row for %s in %+v", a, st.(Status).VIPs)
	return VIPStatus{}
}
