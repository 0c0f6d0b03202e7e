package agent

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// collectTimeout bounds how long a scrape waits for the loop.
const collectTimeout = time.Second

// collector makes series of the agent's state at scrape time, so that what is
// gone from the state is gone from the series.
type collector struct {
	agent    *Agent
	owned    *prometheus.Desc
	vips     *prometheus.Desc
	members  *prometheus.Desc
	problems *prometheus.Desc
	errors   *prometheus.Desc
	up       *prometheus.Desc
}

func newCollector(a *Agent) *collector {
	return &collector{
		agent:    a,
		owned:    prometheus.NewDesc("fairlead_vip_owned", "1 for each VIP that this node owns.", []string{"address", "interface"}, nil),
		vips:     prometheus.NewDesc("fairlead_vips", "VIPs by this node's election state.", []string{"state"}, nil),
		members:  prometheus.NewDesc("fairlead_members_alive", "Members heard through an interface, this node not counted.", []string{"interface"}, nil),
		problems: prometheus.NewDesc("fairlead_manifest_problems", "Problems in the current manifests, by kind.", []string{"kind"}, nil),
		errors:   prometheus.NewDesc("fairlead_source_error", "1 while the latest manifests are refused and the ones before are in use.", nil, nil),
		up:       prometheus.NewDesc("fairlead_loop_answers", "1 if the agent's loop answered this scrape in time.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.owned, c.vips, c.members, c.problems, c.errors, c.up} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var out []func()
	err := c.agent.inLoop(ctx, func() { out = c.gather(gauge) })
	up := 0.0
	if err == nil {
		up = 1
	}
	gauge(c.up, up)
	for _, f := range out {
		f()
	}
}

// gather reads the state in the loop; what it returns sends the series outside
// of it.
func (c *collector) gather(gauge func(*prometheus.Desc, float64, ...string)) (out []func()) {
	a := c.agent
	add := func(d *prometheus.Desc, v float64, labels ...string) {
		out = append(out, func() { gauge(d, v, labels...) })
	}
	states := make(map[election.State]int)
	for _, s := range a.segments {
		alive := 0
		for _, p := range s.peers {
			if p.alive {
				alive++
			}
		}
		add(c.members, float64(alive), s.name)
		for _, o := range s.machine.View() {
			states[o.State]++
			if o.State.Answers() {
				add(c.owned, 1, o.Addr.String(), s.name)
			}
		}
	}
	for st, n := range states {
		add(c.vips, float64(n), st.String())
	}
	if a.snap != nil {
		kinds := make(map[string]int)
		for _, p := range a.snap.Problems {
			kinds[p.Kind.String()]++
		}
		for _, p := range a.unusable {
			kinds[p.Kind.String()]++
		}
		for k, n := range kinds {
			add(c.problems, float64(n), k)
		}
	}
	failing := 0.0
	if a.parts.Source.Err() != nil {
		failing = 1
	}
	add(c.errors, failing)
	return out
}
