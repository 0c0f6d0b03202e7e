package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-lb/fairlead/internal/agent"
	"github.com/fairlead-lb/fairlead/internal/ops"
)

type statusCmd struct {
	StateDir string `help:"The state directory of the agent to ask." default:"/run/fairlead" placeholder:"DIR"`
	Output   string `short:"o" help:"table or json." enum:"table,json" default:"table"`
}

// Run asks the agent that holds the state directory.
func (c *statusCmd) Run(ctx context.Context, env Env) error {
	if c.Output == "json" {
		var raw json.RawMessage
		if err := c.fetch(ctx, &raw); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Stdout, "%s\n", raw)
		return err
	}
	var s agent.Status
	if err := c.fetch(ctx, &s); err != nil {
		return err
	}
	return printStatus(env.Stdout, s)
}

func (c *statusCmd) fetch(ctx context.Context, out any) error {
	err := ops.FetchState(ctx, agent.SocketPath(c.StateDir), out)
	if errors.Is(err, ops.ErrNotRunning) {
		return fmt.Errorf("%w: is the agent up, with --state-dir %s?", err, c.StateDir)
	}
	return err
}

// printStatus writes s for a person: what matters first, trouble in words.
func printStatus(out io.Writer, s agent.Status) error {
	w := &tableWriter{w: tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)}
	state := ""
	if s.Draining {
		state = " (draining)"
	}
	w.line("Node %s%s", s.Node, state)
	if s.SourceError != "" {
		w.line("The latest manifests are refused, the ones before are in use: %s", s.SourceError)
	}
	w.line("")
	w.line("MEMBER\tINTERFACE\tMAC\tALIVE\tLAST SEEN\tNOTE")
	for _, m := range s.Members {
		seen := fmt.Sprintf("%d ms ago", m.LastSeenMs)
		if m.Self {
			seen = "this node"
		}
		w.line("%s\t%s\t%s\t%s\t%s\t%s", m.Node, m.Interface, m.MAC, yesNo(m.Alive), seen, m.Reason)
	}
	w.line("")
	w.line("VIP\tSTATE\tOWNER\tEPOCH\tINTERFACE\tFOR\tREASON")
	for _, v := range s.VIPs {
		since := ""
		if v.SinceMs > 0 {
			since = (time.Duration(v.SinceMs) * time.Millisecond).Round(time.Second).String()
		}
		w.line("%s\t%s\t%s\t%d\t%s\t%s\t%s", v.Address, v.State, dash(v.Owner), v.Epoch, dash(v.Interface), dash(since), v.Reason)
	}
	w.line("")
	w.line("SERVICE\tADDRESS\tPORT\tFORWARDING\tENDPOINTS")
	for _, x := range s.Services {
		w.line("%s\t%s\t%d/%s\t%s\t%d", x.Name, x.Address, x.Port, x.Protocol, x.Forwarding, len(x.Endpoints))
	}
	idle := slices.DeleteFunc(slices.Clone(s.Interfaces), func(i agent.InterfaceStatus) bool { return i.State == "announcing" })
	if len(idle) > 0 && len(idle) == len(s.Interfaces) {
		w.line("")
		w.line("No interface announces:")
		for _, i := range idle {
			w.line("  %s\t%s", i.Name, strings.ReplaceAll(i.Reason, "_", " "))
		}
	}
	if len(s.Problems) > 0 {
		w.line("")
		w.line("Problems:")
		for _, p := range s.Problems {
			w.line("  %s", p)
		}
	}
	return w.flush()
}

// tableWriter writes lines of tab-separated cells and remembers the first error.
type tableWriter struct {
	w   *tabwriter.Writer
	err error
}

func (t *tableWriter) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *tableWriter) flush() error {
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
