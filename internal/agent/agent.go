package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
	"github.com/fairlead-lb/fairlead/internal/metrics"
	"github.com/fairlead-lb/fairlead/internal/ops"
)

// Source says what there is to serve.
type Source interface {
	Task
	Updates() <-chan *lb.Snapshot
	Err() error // why the latest input was refused, or nil
}

// Links says what interfaces there are.
type Links interface {
	Task
	Updates() <-chan link.State
}

// Members says who is alive and carries what we say.
type Members interface {
	Task
	Set([]membership.Link) error
	Publish(ifname string, b election.Beat, now bool)
	// Confirm tells that the loop turns: without it heartbeats end.
	Confirm()
	Events() <-chan membership.Event
	DeadTime() time.Duration
	Links() []membership.LinkStatus
}

// Announcer tells the network.
type Announcer interface {
	Task
	Set(announce.Desired) error
	Extend(until time.Time)
	Status() []announce.Status
	Trouble(ifname string, f announce.Family) string
	Events() <-chan struct{}
}

// Parts are the drivers and sources that an agent is wired from.
type Parts struct {
	Source    Source
	Links     Links
	Members   Members
	Announcer Announcer
	Log       *slog.Logger
	Metrics   *metrics.Set
}

// Agent is the daemon of one node.
type Agent struct {
	cfg   Config
	parts Parts
	log   *slog.Logger
	start time.Time // zero of election time

	changes *metrics.Vec[election.Change]

	// ask carries questions to the loop, which alone may read the state below.
	ask chan func()

	snap     *lb.Snapshot
	vips     []lb.VIP
	unusable []lb.Problem // what only this node finds wrong
	ifaces   link.State
	haveLink bool
	choices  []link.Choice
	segments []*segment // sorted by interface name
	// dropped is true when a segment has gone and the announcer doesn't know yet.
	dropped  bool
	grace    grace
	notReady map[string]bool // beyond the grace
	draining bool
	statuses map[statusKey]announce.Status
}

// statusKey names an entry of the announcer.
type statusKey struct {
	ifname string
	addr   netip.Addr
}

// New returns an agent that Run starts.
func New(cfg Config, parts Parts) *Agent {
	return &Agent{
		cfg: cfg, parts: parts, log: parts.Log, start: time.Now(),
		changes: metrics.Register[election.Change](parts.Metrics, "vip_transitions",
			"Changes of a VIP's ownership as this node sees them, by kind.", election.Changes),
		ask:      make(chan func()),
		grace:    make(grace),
		statuses: make(map[statusKey]announce.Status),
	}
}

// Run runs the agent until ctx is done, then hands its VIPs over and returns.
// It refuses a state directory that another agent holds ([ErrStateDirInUse]).
func (a *Agent) Run(ctx context.Context) error {
	dir, err := openStateDir(a.cfg.StateDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	raisePriority(a.log)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(a.parts.Metrics, newCollector(a),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := ops.Handler(ops.View{State: a.state, Healthy: a.healthy, Ready: a.ready, Metrics: reg})

	// The drivers outlive ctx: while draining, heartbeats and answers go on.
	drivers, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	tasks := []named{
		{"source", a.parts.Source},
		{"links", a.parts.Links},
		{"membership", a.parts.Members},
		{"announcer", a.parts.Announcer},
		{"control socket", ops.NewServer("unix", SocketPath(a.cfg.StateDir), handler, a.log)},
		{"agent", taskFunc(func(inner context.Context) error {
			defer stop()
			if err := a.loop(inner, ctx.Done()); err != nil {
				return err
			}
			return inner.Err()
		})},
	}
	if a.cfg.Listen != "" {
		tasks = append(tasks, named{"metrics", ops.NewServer("tcp", a.cfg.Listen, handler, a.log)})
	}
	a.log.Info("agent started", "node", a.cfg.Node, "state-dir", a.cfg.StateDir)
	err = runAll(drivers, tasks)
	if err == nil {
		a.log.Info("agent stopped")
	}
	return err
}

// taskFunc makes a function a Task.
type taskFunc func(context.Context) error

func (f taskFunc) Run(ctx context.Context) error { return f(ctx) }

// inLoop has f run by the loop and waits for it.
func (a *Agent) inLoop(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case a.ask <- func() { f(); close(done) }:
	case <-ctx.Done():
		return fmt.Errorf("the agent's loop does not answer: %w", ctx.Err())
	}
	<-done
	return nil
}

// state is for `fairlead status`.
func (a *Agent) state(ctx context.Context) (any, error) {
	var s Status
	err := a.inLoop(ctx, func() { s = a.status(time.Now()) })
	return s, err
}

// healthy says whether the loop turns.
func (a *Agent) healthy(ctx context.Context) error {
	return a.inLoop(ctx, func() {})
}

// ready says whether the agent could own a VIP.
func (a *Agent) ready(ctx context.Context) (err error) {
	if lerr := a.inLoop(ctx, func() { err = a.notReadyBecause() }); lerr != nil {
		return lerr
	}
	return err
}

func (a *Agent) notReadyBecause() error {
	switch {
	case a.draining:
		return fmt.Errorf("draining")
	case a.snap == nil:
		if err := a.parts.Source.Err(); err != nil {
			return fmt.Errorf("no manifests loaded yet: %w", err)
		}
		return fmt.Errorf("no manifests loaded yet")
	case len(a.segments) == 0:
		return fmt.Errorf("no interface to announce on")
	}
	for _, s := range a.segments {
		if s.iface.Usable() {
			return nil
		}
	}
	return fmt.Errorf("no announcing interface is up")
}
