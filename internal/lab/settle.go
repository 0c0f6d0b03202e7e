package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
)

const (
	// pollInterval is the time between two looks at the agents' state.
	pollInterval = 25 * time.Millisecond
	// settleTimeout is how long agents may take to agree: a dead time, a probe
	// for strangers, and room for a machine that is busy.
	settleTimeout = 20 * time.Second
	// impatience is after how long a person is told what is waited for.
	impatience = 2 * time.Second
)

// states asks the agents of the nodes.
func (c *cluster) states(ctx context.Context, nodes []string) (map[string]agentState, error) {
	states := make(map[string]agentState, len(nodes))
	for _, n := range nodes {
		s, err := c.agents[n].state(ctx)
		if err != nil {
			return nil, err
		}
		states[n] = s
	}
	return states, nil
}

// meet waits until every agent hears all others.
func (c *cluster) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		lonely, err := c.lonely(ctx)
		if err != nil && ctx.Err() == nil {
			for _, n := range c.nodeNames() {
				if died := c.agents[n].diedEarly(); died != nil {
					return died
				}
			}
			lonely = err.Error()
		}
		if lonely == "" {
			return nil
		}
		if !sleep(ctx, pollInterval) {
			return fmt.Errorf("wait for agents to hear each other: %w: %s: logs are in %s", context.Cause(ctx), lonely, c.dir)
		}
	}
}

// lonely describes an agent that doesn't hear all others yet, or is "".
func (c *cluster) lonely(ctx context.Context) (string, error) {
	states, err := c.states(ctx, c.nodeNames())
	if err != nil {
		return "", err
	}
	for _, n := range c.nodeNames() {
		alive := make(map[string]bool)
		for _, m := range states[n].Members {
			alive[m.Node] = m.Alive
		}
		for _, other := range c.others(n) {
			if !alive[other] {
				return n + " does not hear " + other, nil
			}
		}
	}
	return "", nil
}

// settle waits until the agents of these nodes agree on who owns what and what
// is asked for is answered by its owner.
func (c *cluster) settle(ctx context.Context, nodes []string) (ownership, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var why error
	told := time.Now()
	for {
		for _, n := range nodes {
			if err := c.agents[n].diedEarly(); err != nil {
				return nil, err
			}
		}
		states, err := c.states(ctx, nodes)
		if err == nil {
			var o ownership
			if o, err = agree(states, allVIPs(c.spec.services)); err == nil {
				return o, c.answered(ctx, o)
			}
		}
		if ctx.Err() == nil {
			why = err
		}
		if time.Since(told) > impatience {
			c.say.Info("waiting for agents to agree: %v", why)
			told = time.Now()
		}
		if !sleep(ctx, pollInterval) {
			return nil, fmt.Errorf("wait for agents to agree on the owners: %w: %w: logs are in %s", context.Cause(ctx), why, c.dir)
		}
	}
}

// answered waits until each VIP that is asked for is answered by its owner.
func (c *cluster) answered(ctx context.Context, o ownership) error {
	if c.recorder == nil {
		return nil
	}
	from := time.Now()
	for _, addr := range c.spec.asked {
		port := c.node(o[addr].node).Port()
		_, err := c.recorder.Wait(ctx, func(e capture.Event) bool {
			return e.Addr == addr && e.Port == port && e.At.After(from)
		})
		if err != nil {
			return fmt.Errorf("%s does not answer for %s, which it owns: %w: logs are in %s", o[addr].node, addr, err, c.dir)
		}
	}
	return nil
}

// sleep waits; it returns false as soon as ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
