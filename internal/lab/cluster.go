package lab

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/lab/pod"
	"github.com/fairlead-lb/fairlead/internal/lab/proxy"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

const (
	// dirPrefix begins the names of labs' directories.
	dirPrefix = "fairlead-lab-"
	// askInterval is the time between two questions for a VIP.
	askInterval = 20 * time.Millisecond
)

// clusterSpec says what to build.
type clusterSpec struct {
	nodes, podsPerNode int
	bits4              int
	services           []service
	// asked are the VIPs that the segment is asked for all the time.
	asked []netip.Addr
	// late lets the services appear when the agents already know each other, as
	// in a cluster that stands, and not with the agents' start.
	late bool
}

// baseSpec is three nodes with two pods each, and two services.
func baseSpec() clusterSpec {
	services := baseServices()
	return clusterSpec{nodes: 3, podsPerNode: 2, bits4: 24, services: services, asked: allVIPs(services)}
}

// cluster is a lab that stands.
type cluster struct {
	*topo.Network
	say       Narrator
	spec      clusterSpec
	dir       string
	record    *record
	manifests manifests
	draining  map[string]bool
	agents    map[string]*agentProcess
	pods      []*pod.Server
	recorder  *capture.Recorder
	unwatched bool // the recorder is closed
	askers    []*capture.Asker
	stopAsk   context.CancelFunc
	asking    sync.WaitGroup
}

// newCluster builds the network, writes the manifests and programs the service
// proxies. Nothing runs yet. When it fails it has removed what it made.
func newCluster(ctx context.Context, say Narrator, spec clusterSpec, binary, base string) (*cluster, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, fmt.Errorf("find binary: %w", err)
	}
	prefix, err := unusedPrefix()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the lab: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("make a directory for the lab: %w", err)
	}
	ts := topo.Spec{Prefix: prefix, Nodes: spec.nodes, PodsPerNode: spec.podsPerNode, Bits4: spec.bits4}
	c := &cluster{
		say: say, spec: spec, dir: dir,
		record:    &record{Spec: ts, Dir: dir, Binary: binary},
		manifests: manifests{dir: filepath.Join(dir, "manifests"), staging: filepath.Join(dir, "staging")},
		draining:  make(map[string]bool),
		agents:    make(map[string]*agentProcess),
	}
	if err := c.build(ctx, ts); err != nil {
		return nil, errors.Join(err, c.close(), os.RemoveAll(dir))
	}
	return c, nil
}

// unusedPrefix returns a prefix that no namespace on the machine begins with.
func unusedPrefix() (string, error) {
	for range 16 {
		b := make([]byte, 2)
		if _, err := rand.Read(b); err != nil {
			return "", fmt.Errorf("choose a prefix: %w", err)
		}
		prefix := "fl" + hex.EncodeToString(b)
		taken, err := netns.List(prefix)
		if err != nil {
			return "", err
		}
		if len(taken) == 0 {
			return prefix, nil
		}
	}
	return "", errors.New("choose a prefix: none is free: run `fairlead lab down`")
}

func (c *cluster) build(ctx context.Context, ts topo.Spec) error {
	t, err := topo.New(ts)
	if err != nil {
		return err
	}
	if c.record.Owner, err = describe(os.Getpid()); err != nil {
		return err
	}
	if err := c.record.save(); err != nil {
		return err
	}
	for _, d := range []string{c.manifests.dir, c.manifests.staging} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make a directory for manifests: %w", err)
		}
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	if err := os.WriteFile(c.keyFile(), []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	if c.Network, err = topo.Build(ctx, t); err != nil {
		return err
	}
	if err := c.writeNodes(); err != nil {
		return err
	}
	if err := c.manifests.write("pool.yaml", []object{poolObject(allVIPs(c.spec.services))}); err != nil {
		return err
	}
	if err := c.serveFrom(func(string) bool { return true }); err != nil || c.spec.late {
		return err
	}
	return c.writeServices()
}

func (c *cluster) keyFile() string { return filepath.Join(c.dir, "key") }

// writeNodes writes the Node manifests with the drain annotations as they are.
func (c *cluster) writeNodes() error {
	return c.manifests.write("nodes.yaml", nodeObjects(c.Nodes, c.draining))
}

func (c *cluster) writeServices() error {
	return c.manifests.write("services.yaml", serviceObjects(c.spec.services))
}

// drain sets or takes away the drain annotation of a node.
func (c *cluster) drain(node string, on bool) error {
	c.draining[node] = on
	return c.writeNodes()
}

// serveFrom makes the pods on the nodes that are ready the endpoints of all
// services: in the manifests, and in every node's service proxy.
func (c *cluster) serveFrom(ready func(node string) bool) error {
	if err := c.manifests.write("endpoints.yaml", sliceObjects(c.spec.services, c.Pods, ready)); err != nil {
		return err
	}
	var pods []topo.Pod
	for _, p := range c.Pods {
		if ready(p.Node) {
			pods = append(pods, p)
		}
	}
	fs := frontends(c.spec.services, pods)
	for _, n := range c.Nodes {
		if err := proxy.Apply(c.Namespace(n.Name), fs); err != nil {
			return err
		}
	}
	return nil
}

// servePods starts the pods' servers in this process.
func (c *cluster) servePods() error {
	for _, p := range c.Pods {
		s, err := pod.Serve(c.Namespace(p.Name), p.Name, p.Node)
		if err != nil {
			return err
		}
		c.pods = append(c.pods, s)
	}
	return nil
}

// watchSwitch starts to record what the switch sees, and to ask both of its
// bridges for VIPs.
func (c *cluster) watchSwitch() error {
	var ports []string
	for _, n := range c.Nodes {
		ports = append(ports, n.Port())
	}
	var err error
	if c.recorder, err = capture.Record(c.Switch, ports); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stopAsk = stop
	for i, br := range []string{topo.Bridge, topo.OtherBridge} {
		a, err := capture.NewAsker(c.Switch, br, capture.Station{
			MAC:   lb.MAC{2, 0, 0, 0, 2, byte(i)},
			Addr4: netip.AddrFrom4([4]byte{10, 77, 0, byte(254 - i)}),
			Addr6: netip.MustParseAddr(fmt.Sprintf("2001:db8:77::%d", 254-i)),
		})
		if err != nil {
			return err
		}
		c.askers = append(c.askers, a)
		c.asking.Go(func() { a.Run(ctx, c.spec.asked, askInterval) })
	}
	return nil
}

// startAgents starts an agent on every node, all at once: they place VIPs
// evenly when they hear each other before the first of them claims any.
func (c *cluster) startAgents() error {
	spec := agentSpec{c.record.Binary, c.manifests.dir, c.keyFile()}
	for _, n := range c.Nodes {
		p, err := startAgent(c.Namespace(n.Name), spec, n.Name, filepath.Join(c.dir, n.Name))
		if err != nil {
			return err
		}
		c.agents[n.Name] = p
		d, err := describe(p.pid())
		if err != nil {
			return fmt.Errorf("%w; %w", err, p.diedEarly())
		}
		c.record.Agents = append(c.record.Agents, d)
	}
	return c.record.save()
}

// nodeNames returns the names of all nodes.
func (c *cluster) nodeNames() []string {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// node returns the node of that name.
func (c *cluster) node(name string) topo.Host {
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	panic("no node called " + name)
}

// others returns all nodes but one.
func (c *cluster) others(name string) []string {
	var names []string
	for _, n := range c.nodeNames() {
		if n != name {
			names = append(names, n)
		}
	}
	return names
}

// stopWatching ends recording and asking. What was recorded stays.
func (c *cluster) stopWatching() error {
	var errs []error
	if c.stopAsk != nil {
		c.stopAsk()
		c.asking.Wait()
		for _, a := range c.askers {
			errs = append(errs, a.Close())
		}
		c.askers, c.stopAsk = nil, nil
	}
	if c.recorder != nil && !c.unwatched {
		c.unwatched = true
		errs = append(errs, c.recorder.Close())
	}
	return errors.Join(errs...)
}

// stopPods ends the pods that this process serves.
func (c *cluster) stopPods() {
	for _, p := range c.pods {
		p.Close()
	}
	c.pods = nil
}

// close takes everything down but the directory. It goes on after errors.
func (c *cluster) close() error {
	errs := []error{c.stopWatching()}
	for _, a := range c.agents {
		errs = append(errs, a.kill())
	}
	c.stopPods()
	if c.Network != nil {
		errs = append(errs, c.Network.Remove())
	}
	if err := errors.Join(errs...); err != nil {
		// The record stays: lab down can try again.
		return fmt.Errorf("take lab %s down: %w", c.record.Spec.Prefix, err)
	}
	return c.record.remove()
}

// writePcap writes what the switch saw into the lab's directory.
func (c *cluster) writePcap() (string, error) {
	path := filepath.Join(c.dir, "switch.pcap")
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("write capture: %w", err)
	}
	defer f.Close()
	if err := c.recorder.WritePcap(f); err != nil {
		return "", fmt.Errorf("write capture %s: %w", path, err)
	}
	return path, nil
}
