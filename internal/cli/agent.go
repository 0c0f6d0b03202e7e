package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-lb/fairlead/internal/agent"
	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
	"github.com/fairlead-lb/fairlead/internal/metrics"
	"github.com/fairlead-lb/fairlead/internal/source/file"
)

type agentCmd struct {
	Source            string        `help:"Directory of Kubernetes manifests (Node, Service, EndpointSlice, AddressPool, Announcement) that say what to serve; watched." placeholder:"DIR" required:""`
	Node              string        `help:"This node's name in the manifests (default: the host name)."`
	Interface         []string      `help:"Interface to announce on, a name or glob; repeatable (default: the one that holds this node's InternalIP)." placeholder:"NAME" sep:"none"`
	StateDir          string        `help:"The agent's own directory: lock and control socket." default:"/run/fairlead" placeholder:"DIR"`
	BPFDir            string        `name:"bpf-dir" help:"Directory on a bpffs for what must outlive the agent. kube-proxy forwarding keeps nothing there." default:"/sys/fs/bpf/fairlead" placeholder:"DIR"`
	Membership        string        `help:"How members know that each other live: heartbeat, or lease (needs a Kubernetes API)." enum:"heartbeat,lease" default:"heartbeat"`
	HeartbeatInterval time.Duration `help:"Time between heartbeats; a member is dead after three without one." default:"50ms"`
	HeartbeatPeer     []netip.Addr  `help:"Send heartbeats to this address instead of the multicast group, for networks that drop multicast; repeatable." placeholder:"ADDR"`
	KeyFile           []string      `help:"File with the cluster's heartbeat key; the same on every node. Given again: keys that are accepted too, while a new one is rolled out." placeholder:"FILE" sep:"none"`
	Unauthenticated   bool          `name:"allow-unauthenticated" help:"Run without --key-file: anybody on the segment can then pretend to be a member."`
	Forwarding        string        `help:"How packets get from the owner to endpoints, for services that don't say: kube-proxy (the node's service proxy does it)." enum:"kube-proxy,dsr" default:"kube-proxy"`
	Listen            string        `help:"Address of /metrics, /healthz, /readyz and /debug/state; empty for none." default:"127.0.0.1:7480" placeholder:"HOST:PORT"`
	LogFormat         string        `help:"text or json." enum:"text,json" default:"text"`
}

// Run wires the agent and runs it until a signal comes.
func (c *agentCmd) Run(ctx context.Context, env Env) error {
	log := newLogger(env.Stderr, c.LogFormat)
	// What others re-read their configuration on. Ours is watched, and its
	// default would end the agent without a handover.
	signal.Ignore(syscall.SIGHUP)
	// One processor is plenty for what an agent does, and makes each of its many
	// short runs cheaper: no second thread is woken to look for work.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	forwarding, _ := lb.ParseForwarding(c.Forwarding)
	if forwarding == lb.ForwardingDSR {
		return errors.New("--forwarding dsr: this build has no data plane of its own: use kube-proxy")
	}
	if c.Membership == "lease" {
		return errors.New("--membership lease: needs a Kubernetes API, and this agent reads a directory: use heartbeat")
	}
	if err := c.check(); err != nil {
		return err
	}
	keys, err := c.keys(log)
	if err != nil {
		return err
	}
	if c.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find this node's name: %w: give it with --node", err)
		}
		c.Node = strings.ToLower(host)
	}
	set := metrics.NewSet()
	members, err := membership.New(membership.Config{
		Node: c.Node, Key: keys[0], PreviousKeys: keys[1:], Interval: c.HeartbeatInterval, Peers: c.HeartbeatPeer,
	}, log, set)
	if err != nil {
		return err
	}
	return agent.New(agent.Config{
		Node: c.Node, Interfaces: c.Interface, StateDir: c.StateDir, Forwarding: forwarding,
		Listen: c.Listen, DrainTimeout: agent.DefaultDrainTimeout,
	}, agent.Parts{
		Source:    file.New(c.Source, log, set),
		Links:     link.NewWatcher(log),
		Members:   members,
		Announcer: announce.New(log, set, announce.Options{}),
		Log:       log,
		Metrics:   set,
	}).Run(ctx)
}

// check refuses values that would only be found wrong while running.
func (c *agentCmd) check() error {
	for _, i := range c.Interface {
		if _, err := path.Match(i, ""); err != nil {
			return fmt.Errorf("--interface %s: not a name or glob: %w", i, err)
		}
	}
	if c.HeartbeatInterval <= 0 {
		return fmt.Errorf("--heartbeat-interval %s: must be more than nothing, such as 50ms", c.HeartbeatInterval)
	}
	if c.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("--listen %s: want HOST:PORT, such as 127.0.0.1:7480: %w", c.Listen, err)
	}
	return nil
}

// keys reads the key files: the first is used to send, the others are accepted.
func (c *agentCmd) keys(log *slog.Logger) ([][]byte, error) {
	if len(c.KeyFile) == 0 {
		if !c.Unauthenticated {
			return nil, errors.New("no --key-file: make a key once with `head -c 32 /dev/urandom | base64 > FILE` and give the same file to every node," +
				" or run without authentication with --allow-unauthenticated")
		}
		return [][]byte{nil}, nil
	}
	keys := make([][]byte, 0, len(c.KeyFile))
	for _, name := range c.KeyFile {
		key, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read --key-file: %w", err)
		}
		key = bytes.TrimRight(key, "\r\n")
		if len(key) == 0 {
			return nil, fmt.Errorf("--key-file %s is empty: make a key with `head -c 32 /dev/urandom | base64 > %s`", name, name)
		}
		if len(key) < 16 {
			log.Warn("heartbeat key is short: 32 random bytes are better", "file", name, "bytes", len(key))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func newLogger(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
