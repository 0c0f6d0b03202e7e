package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/topo"
)

// PodsCommand is the command of the binary that serves the pods of a standing
// lab: it takes the path of the lab's record and calls [ServePods].
const PodsCommand = "pods"

// Up builds a network with running agents and leaves it standing.
func Up(ctx context.Context, o UpOptions) error {
	if err := preflight(o.Binary); err != nil {
		return err
	}
	spec := baseSpec()
	if o.Nodes > 0 {
		spec.nodes = o.Nodes
	}
	if o.PodsPerNode > 0 {
		spec.podsPerNode = o.PodsPerNode
	}
	say := newNarrator(o.Out, false)
	c, err := newCluster(ctx, say, spec, o.Binary, o.Dir)
	if err != nil {
		return err
	}
	pods, err := c.raise(ctx)
	if err != nil {
		if pods != nil {
			err = errors.Join(err, pods.kill())
		}
		return errors.Join(err, c.close())
	}
	c.explain(o)
	// From here on the lab belongs to the process that serves the pods.
	return c.Network.Close()
}

// raise starts what stays: agents, and a process that serves the pods.
func (c *cluster) raise(ctx context.Context) (*process, error) {
	c.say.Step("a network of %d nodes in namespaces %s-*\n%s", len(c.Nodes), c.Prefix, c.Draw())
	if err := c.startAgents(); err != nil {
		return nil, err
	}
	pods, err := c.startPods(ctx)
	if err != nil {
		return pods, err
	}
	c.record.Standing = true
	c.record.Owner = *pods
	if err := c.record.save(); err != nil {
		return pods, err
	}
	owners, err := c.settle(ctx, c.nodeNames())
	if err != nil {
		return pods, err
	}
	c.say.Info("%s", owners.describe(c.nodeNames()))
	return pods, nil
}

// startPods starts the process that serves the pods and waits until it does.
func (c *cluster) startPods(ctx context.Context) (*process, error) {
	path := filepath.Join(c.dir, "pods.log")
	log, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("start the pods: %w", err)
	}
	defer log.Close()
	ready, done, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the pods: %w", err)
	}
	defer ready.Close()
	cmd := exec.Command(c.record.Binary, "lab", PodsCommand, c.record.path)
	cmd.Stdout, cmd.Stderr = done, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	done.Close()
	if err != nil {
		return nil, fmt.Errorf("start the pods: %w", err)
	}
	p, err := describe(cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("start the pods: %w", err)
	}
	// Whoever waits for it is init once this process has ended.
	go cmd.Wait()
	deadline := time.Now().Add(settleTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := ready.SetReadDeadline(deadline); err != nil {
		return &p, fmt.Errorf("start the pods: %w", err)
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return &p, fmt.Errorf("start the pods: they don't serve: %w; the end of %s:\n%s", err, path, tail(path, 5))
	}
	return &p, nil
}

// ServePods serves the pods of the lab whose record is in a file, until ctx
// ends. It writes a line to out, its standard output, when they are served.
func ServePods(ctx context.Context, path string, out io.Writer) error {
	r, err := loadRecord(path)
	if err != nil {
		return err
	}
	t, err := topo.New(r.Spec)
	if err != nil {
		return err
	}
	n, err := topo.Open(t)
	if err != nil {
		return err
	}
	defer n.Close()
	c := &cluster{Network: n}
	defer c.stopPods()
	if err := c.servePods(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "serving"); err != nil {
		return fmt.Errorf("tell that the pods are served: %w", err)
	}
	<-ctx.Done()
	return nil
}

// explain tells a person how to play with the lab.
func (c *cluster) explain(o UpOptions) {
	ns := func(name string) string { return "nsenter --net=" + c.Namespace(name).Path() }
	first := c.Nodes[0].Name
	vip := c.spec.services[0].vips
	var b strings.Builder
	line := func(what, command string) { fmt.Fprintf(&b, "  %-26s %s\n", what, command) }
	fmt.Fprintf(&b, "\nthe lab %s stands; its files are in %s\n\n", c.Prefix, c.dir)
	line("be the client", ns("cl")+" sh")
	line("be a node", ns(first)+" sh")
	line("ask a service", ns("cl")+" curl http://"+vip[0].String()+"/")
	line("… over IPv6", ns("cl")+" curl 'http://["+vip[1].String()+"]/'")
	line("see what an agent knows", c.record.Binary+" status --state-dir "+filepath.Join(c.dir, first))
	line("read its log", "less "+filepath.Join(c.dir, first, "agent.log"))
	line("change what is served", "edit files in "+c.manifests.dir)
	line("pull a cable", "nsenter --net="+c.Switch.Path()+" ip link set p-"+first+" down")
	line("take it all down", c.record.Binary+" lab down")
	fmt.Fprint(o.Out, b.String())
}
