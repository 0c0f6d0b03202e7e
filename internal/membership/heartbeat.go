package membership

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// Heartbeat is the membership provider that sends and hears heartbeats.
type Heartbeat struct {
	cfg   Config
	log   *slog.Logger
	drops *metrics.Vec[Drop]
	net   transport
	self  self
	queue *queue

	epoch     time.Time    // zero of confirmed
	confirmed atomic.Int64 // when the agent last showed life, ns since epoch
	// sequence is shared by all links: to a peer that hears two of our interfaces
	// on one segment we are one instance that counts on.
	sequence atomic.Uint64

	mu       sync.Mutex
	ctx      context.Context // of Run, or nil
	sessions map[string]*session
	// gone is the last session of each link that was removed: it may be closing
	// still, and what it knows of past instances must not be forgotten.
	gone map[string]*session
	wg   sync.WaitGroup
}

// LinkStatus is how heartbeats do on one link.
type LinkStatus struct {
	Link  Link
	Open  bool   // the socket is open
	Err   string // why it isn't, or why nothing can be sent; one line
	Peers []Peer // heard within the dead time, sorted by name
}

// New returns a Heartbeat that Run starts. Datagrams that are dropped are
// counted in set as heartbeat_dropped.
func New(cfg Config, log *slog.Logger, set *metrics.Set) (*Heartbeat, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("choose instance id: %w", err)
	}
	now := time.Now()
	return &Heartbeat{
		cfg: cfg,
		log: log,
		drops: metrics.Register[Drop](set, "heartbeat_dropped",
			"Heartbeats that arrived and were not used, by reason.", Drops),
		net:      udp{},
		self:     self{node: cfg.Node, instance: binary.BigEndian.Uint64(random[:]), started: uint64(now.UnixNano())},
		queue:    newQueue(),
		epoch:    now,
		sessions: make(map[string]*session),
		gone:     make(map[string]*session),
	}, nil
}

// DeadTime is how long a silence makes a peer dead.
func (h *Heartbeat) DeadTime() time.Duration {
	return h.cfg.Interval * time.Duration(h.cfg.DeadAfter)
}

// Events delivers what is heard and who is lost, in order. A consumer who is
// slow gets the latest word of each peer. The slices of a Beat are shared and
// must not be changed.
func (h *Heartbeat) Events() <-chan Event { return h.queue.out }

// Set makes heartbeats go through these links and no others; the same links
// again change nothing. Sockets are opened in the background and re-opened
// until they work; see [Heartbeat.Links]. Removing a link loses its peers at
// once. The error names the links that can't be used as they are described;
// the others are.
func (h *Heartbeat) Set(links []Link) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	want := make(map[string]Link)
	for _, l := range links {
		l.Addr = l.Addr.Unmap().WithZone("")
		_, twice := want[l.Name]
		switch {
		case l.Name == "" || l.Index <= 0:
			errs = append(errs, fmt.Errorf("heartbeat on %q: no such interface", l.Name))
		case !l.Addr.IsValid() || l.Addr.IsUnspecified() || l.Addr.IsMulticast():
			errs = append(errs, fmt.Errorf("heartbeat on %s: the interface has no address to send from", l.Name))
		case twice:
			errs = append(errs, fmt.Errorf("heartbeat on %s: given twice", l.Name))
		default:
			want[l.Name] = l
		}
	}
	for name, s := range h.sessions {
		if _, ok := want[name]; !ok {
			delete(h.sessions, name)
			h.gone[name] = s
			s.stop()
		}
	}
	for name, l := range want {
		if s := h.sessions[name]; s != nil {
			s.setLink(l)
			continue
		}
		s := newSession(h, l, h.gone[name])
		delete(h.gone, name)
		h.sessions[name] = s
		h.start(s)
	}
	return errors.Join(errs...)
}

// start runs a session if Run is running. The caller holds mu.
func (h *Heartbeat) start(s *session) {
	if h.ctx != nil {
		s.start(h.ctx, &h.wg)
	}
}

// Publish makes b what the next heartbeats on a link say, and sends one at once
// if now is true. A link stays silent until its first Publish. It also confirms,
// as [Heartbeat.Confirm] does. It takes a copy of b.
func (h *Heartbeat) Publish(ifname string, b election.Beat, now bool) {
	h.Confirm()
	h.mu.Lock()
	s := h.sessions[ifname]
	h.mu.Unlock()
	if s != nil {
		s.speaker.publish(b, now)
	}
}

// Confirm tells that the agent's loop is alive. 20 intervals after the last
// confirmation heartbeats stop, so that a hung agent looks dead.
func (h *Heartbeat) Confirm() { h.confirmed.Store(int64(time.Since(h.epoch))) }

// hung reports for how long there was no confirmation, if that is too long.
func (h *Heartbeat) hung(now time.Time) (time.Duration, bool) {
	idle := now.Sub(h.epoch) - time.Duration(h.confirmed.Load())
	return idle, idle >= hungAfter*h.cfg.Interval
}

// Links returns the state of every link, sorted by name.
func (h *Heartbeat) Links() []LinkStatus {
	h.mu.Lock()
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	out := make([]LinkStatus, 0, len(sessions))
	for _, s := range sessions {
		out = append(out, s.status())
	}
	slices.SortFunc(out, func(a, b LinkStatus) int { return cmp.Compare(a.Link.Name, b.Link.Name) })
	return out
}

// Run sends and listens until ctx is done. It may be called once.
func (h *Heartbeat) Run(ctx context.Context) error {
	h.mu.Lock()
	if h.ctx != nil {
		h.mu.Unlock()
		return errors.New("heartbeats run already")
	}
	h.ctx = ctx
	h.Confirm()
	if h.cfg.Key == nil {
		h.log.Warn("heartbeats are not authenticated: whoever is on the segment can join")
	}
	for _, s := range h.sessions {
		h.start(s)
	}
	h.mu.Unlock()
	h.queue.run(ctx)
	// A Set that comes now starts sessions whose ctx is done already.
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wg.Wait()
	return nil
}
