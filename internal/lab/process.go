package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/ops"
)

const (
	// statusTimeout is how long an agent may take to tell its state.
	statusTimeout = 2 * time.Second
	// killWait is how long a killed process may take to be gone.
	killWait = 5 * time.Second
)

// agentState is what the lab reads of `fairlead status -o json`: the keys that
// any tool may rely on.
type agentState struct {
	VIPs []struct {
		Address netip.Addr `json:"address"`
		Owner   string     `json:"owner"`
		Epoch   uint64     `json:"epoch"`
		State   string     `json:"state"`
		Reason  string     `json:"reason"`
	} `json:"vips"`
	Members []struct {
		Node  string `json:"node"`
		Alive bool   `json:"alive"`
	} `json:"members"`
}

// agentProcess is an agent that runs in a node's namespace.
type agentProcess struct {
	node   string
	dir    string // its state directory
	cmd    *exec.Cmd
	exited chan struct{} // closed when it is gone
	exit   error         // then: how it ended
}

// agentSpec is what the agents of a lab have in common.
type agentSpec struct {
	binary, source, keyFile string
}

// startAgent starts an agent in a namespace. Its output goes to agent.log in
// dir.
func startAgent(ns *netns.Namespace, spec agentSpec, node, dir string) (*agentProcess, error) {
	p := &agentProcess{node: node, dir: dir, exited: make(chan struct{})}
	bpf := filepath.Join(dir, "bpf")
	if err := os.MkdirAll(bpf, 0o755); err != nil {
		return nil, fmt.Errorf("start agent %s: %w", node, err)
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start agent %s: %w", node, err)
	}
	defer log.Close() // the process has its own
	p.cmd = exec.Command(spec.binary, "agent",
		"--source", spec.source, "--node", node, "--interface", "eth0",
		"--state-dir", dir, "--bpf-dir", bpf, "--key-file", spec.keyFile,
		"--forwarding", "kube-proxy", "--log-format", "json")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A process group of its own: a Ctrl-C at the terminal is for the lab, which
	// then stops its agents in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := ns.Do(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start agent %s: %w", node, err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *agentProcess) log() string { return filepath.Join(p.dir, "agent.log") }

func (p *agentProcess) pid() int { return p.cmd.Process.Pid }

// signal sends a signal to the agent.
func (p *agentProcess) signal(sig unix.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %s to agent %s: %w", unix.SignalName(sig), p.node, err)
	}
	return nil
}

// wait waits for the process to end by itself and returns its exit status.
func (p *agentProcess) wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.exit
	case <-ctx.Done():
		return fmt.Errorf("wait for agent %s to exit: %w: read %s", p.node, context.Cause(ctx), p.log())
	}
}

// kill ends the process group and reaps it. It is no error if it has ended.
func (p *agentProcess) kill() error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := unix.Kill(-p.pid(), unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill agent %s: %w", p.node, err)
	}
	t := time.NewTimer(killWait)
	defer t.Stop()
	select {
	case <-p.exited:
		return nil
	case <-t.C:
		return fmt.Errorf("kill agent %s: process %d is still there after %s", p.node, p.pid(), killWait)
	}
}

// state asks the agent for its view.
func (p *agentProcess) state(ctx context.Context) (agentState, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var s agentState
	if err := ops.FetchState(ctx, filepath.Join(p.dir, "agent.sock"), &s); err != nil {
		return s, fmt.Errorf("ask agent %s: %w", p.node, err)
	}
	return s, nil
}

// diedEarly describes an agent that ended although nobody asked it to, with
// the end of its log.
func (p *agentProcess) diedEarly() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	how := "exit status 0"
	if p.exit != nil {
		how = p.exit.Error()
	}
	return errors.New("agent " + p.node + " has ended (" + how + "); the end of " + p.log() + ":\n" + tail(p.log(), 5))
}

// tail returns the last lines of a file.
func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
