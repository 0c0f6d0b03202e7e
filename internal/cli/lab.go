package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab"
)

// labCmd groups the commands of the lab.
type labCmd struct {
	Run   labRunCmd   `cmd:"" help:"Build a network, run a scenario on it, tear it down."`
	List  labListCmd  `cmd:"" help:"List the scenarios."`
	Up    labUpCmd    `cmd:"" help:"Build a network with running agents and leave it standing."`
	Down  labDownCmd  `cmd:"" help:"Remove what lab up, or a lab that was killed, left behind."`
	Pods  labPodsCmd  `cmd:"" hidden:"" help:"Serve the pods of a standing lab; lab up starts it."`
	Bench labBenchCmd `cmd:"" help:"Measure: failover, idle, load."`
}

type labListCmd struct{}

// Run lists the scenarios.
func (labListCmd) Run(env Env) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 3, ' ', 0)
	for _, s := range lab.Scenarios() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Summary)
	}
	return w.Flush()
}

type labRunCmd struct {
	Scenario []string `help:"Scenario to run; repeatable (default: all)." placeholder:"NAME"`
	JSON     bool     `name:"json" help:"Print one JSON object a scenario instead of the story."`
	Keep     bool     `help:"Keep logs and captures even if everything held."`
}

// Run runs scenarios one after the other; it fails if any of them does.
func (c *labRunCmd) Run(ctx context.Context, env Env) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	names := c.Scenario
	if len(names) == 0 {
		for _, s := range lab.Scenarios() {
			names = append(names, s.Name)
		}
	}
	passed, failed := 0, 0
	for _, name := range names {
		out := env.Stdout
		if c.JSON {
			out = env.Stderr
		}
		res, err := lab.Run(ctx, lab.Options{Binary: binary, Scenario: name, Keep: c.Keep, Out: out, Quiet: c.JSON})
		if err != nil {
			return fmt.Errorf("scenario %s: %w", name, err)
		}
		if c.JSON {
			line, err := json.Marshal(res)
			if err != nil {
				return fmt.Errorf("encode result of %s: %w", name, err)
			}
			fmt.Fprintf(env.Stdout, "%s\n", line)
		}
		if res.OK {
			passed++
		} else {
			failed++
		}
	}
	if len(names) > 1 && !c.JSON {
		fmt.Fprintf(env.Stdout, "scenarios: %d passed, %d failed\n", passed, failed)
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}

type labUpCmd struct {
	Nodes int `help:"How many nodes." default:"3"`
	Pods  int `help:"How many pods behind each node." default:"2"`
}

// Run leaves a lab standing.
func (c *labUpCmd) Run(ctx context.Context, env Env) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	return lab.Up(ctx, lab.UpOptions{Binary: binary, Nodes: c.Nodes, PodsPerNode: c.Pods, Out: env.Stdout})
}

type labPodsCmd struct {
	Record string `arg:"" help:"The record of the standing lab."`
}

// Run serves the pods until it is told to stop.
func (c *labPodsCmd) Run(ctx context.Context, env Env) error {
	return lab.ServePods(ctx, c.Record, env.Stdout)
}

type labDownCmd struct{}

// Run removes labs that nobody runs any more.
func (labDownCmd) Run(ctx context.Context, env Env) error {
	return lab.Down(ctx, env.Stdout)
}

type labBenchCmd struct {
	Failover labBenchFailoverCmd `cmd:"" help:"The silence that a client sees when the owner's cable is pulled, over many runs."`
	Load     labBenchLoadCmd     `cmd:"" help:"False takeovers while every core is kept busy by something else."`
	Idle     labBenchIdleCmd     `cmd:"" help:"What an agent costs when nothing happens: CPU and memory with 500 VIPs."`
}

type labBenchFailoverCmd struct {
	Runs int `help:"How many runs." default:"20"`
}

type labBenchLoadCmd struct {
	Duration time.Duration `help:"How long." default:"5m"`
}

type labBenchIdleCmd struct {
	Duration time.Duration `help:"How long to measure." default:"20s"`
}

// Run measures failover.
func (c *labBenchFailoverCmd) Run(ctx context.Context, env Env) error {
	return bench(env, func(o lab.BenchOptions) error { return lab.BenchFailover(ctx, o, c.Runs) })
}

// Run measures false takeovers.
func (c *labBenchLoadCmd) Run(ctx context.Context, env Env) error {
	return bench(env, func(o lab.BenchOptions) error { return lab.BenchLoad(ctx, o, c.Duration) })
}

// Run measures idleness.
func (c *labBenchIdleCmd) Run(ctx context.Context, env Env) error {
	return bench(env, func(o lab.BenchOptions) error { return lab.BenchIdle(ctx, o, c.Duration) })
}

func bench(env Env, run func(lab.BenchOptions) error) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	return run(lab.BenchOptions{Binary: binary, Out: env.Stdout})
}
