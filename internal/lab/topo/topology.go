package topo

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// The bounds of a topology: what a laptop builds in a second or two, and what
// the last byte of the addresses has room for.
const (
	MaxNodes       = 32
	MaxPodsPerNode = 8
	maxNamespaces  = 96
)

// Spec says what to build.
type Spec struct {
	// Prefix begins every namespace's name and must be unique on the machine.
	Prefix      string
	Nodes       int
	PodsPerNode int
	// Bits4 is the length of the segment's IPv4 prefix at 10.77.0.0: 24, or less
	// for a lab with hundreds of VIPs.
	Bits4 int
}

// Topology is the network as data.
type Topology struct {
	Prefix string
	Client Host
	Nodes  []Host
	Pods   []Pod
}

// Host is a machine on the segment. Its interface is eth0, its port on the
// switch p-Name.
type Host struct {
	Name  string
	Addr4 netip.Prefix
	Addr6 netip.Prefix
	MAC   lb.MAC
}

// Port returns the name of the switch port that the host's cable is in.
func (h Host) Port() string { return "p-" + h.Name }

// Pod is a pod: a namespace that is routed through its node.
type Pod struct {
	Name  string // "n1-p1"
	Node  string
	Addr4 netip.Addr
	Addr6 netip.Addr
	veth  string // the node's end of its cable
}

// New returns the topology of a spec, or what is wrong with the spec.
func New(s Spec) (Topology, error) {
	switch {
	case s.Nodes < 1 || s.Nodes > MaxNodes:
		return Topology{}, fmt.Errorf("plan topology: %d nodes, want 1 to %d", s.Nodes, MaxNodes)
	case s.PodsPerNode < 0 || s.PodsPerNode > MaxPodsPerNode:
		return Topology{}, fmt.Errorf("plan topology: %d pods per node, want 0 to %d", s.PodsPerNode, MaxPodsPerNode)
	case s.Nodes*(1+s.PodsPerNode)+2 > maxNamespaces:
		return Topology{}, fmt.Errorf("plan topology: %d namespaces, want at most %d", s.Nodes*(1+s.PodsPerNode)+2, maxNamespaces)
	case s.Bits4 < 16 || s.Bits4 > 24:
		return Topology{}, fmt.Errorf("plan topology: prefix length %d, want 16 to 24", s.Bits4)
	case s.Prefix == "" || strings.ContainsAny(s.Prefix, "/."):
		return Topology{}, fmt.Errorf("plan topology: %q can't begin a namespace's name", s.Prefix)
	}
	t := Topology{Prefix: s.Prefix, Client: host("cl", 100, s.Bits4)}
	t.Client.MAC = lb.MAC{2, 0, 0, 0, 1, 0}
	for n := 1; n <= s.Nodes; n++ {
		node := host(fmt.Sprintf("n%d", n), 10+n, s.Bits4)
		node.MAC = lb.MAC{2, 0, 0, 0, 0, byte(0x10 + n)}
		t.Nodes = append(t.Nodes, node)
		for p := 1; p <= s.PodsPerNode; p++ {
			t.Pods = append(t.Pods, Pod{
				Name:  fmt.Sprintf("n%d-p%d", n, p),
				Node:  node.Name,
				Addr4: netip.AddrFrom4([4]byte{10, 244, byte(n), byte(9 + p)}),
				Addr6: netip.MustParseAddr(fmt.Sprintf("fd00:244:%d::%d", n, 9+p)),
				veth:  fmt.Sprintf("pod%d", p),
			})
		}
	}
	return t, nil
}

// host returns a host whose addresses end in last, read as decimal digits in
// both families.
func host(name string, last, bits4 int) Host {
	return Host{
		Name:  name,
		Addr4: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, 0, byte(last)}), bits4),
		Addr6: netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("2001:db8:77::%d", last)), 64),
	}
}

// Switch returns the name of the switch's namespace.
func (t Topology) Switch() string { return t.Prefix + "-sw" }

// Namespace returns the name of a host's or pod's namespace.
func (t Topology) Namespace(name string) string { return t.Prefix + "-" + name }

// Hosts returns everything that has a cable in the switch, client first.
func (t Topology) Hosts() []Host { return append([]Host{t.Client}, t.Nodes...) }

// PodsOf returns the pods behind a node.
func (t Topology) PodsOf(node string) []Pod {
	var pods []Pod
	for _, p := range t.Pods {
		if p.Node == node {
			pods = append(pods, p)
		}
	}
	return pods
}

// podNet returns the prefixes that the pods behind a node share.
func podNet(node Host) (v4, v6 netip.Prefix) {
	n := node.Addr4.Addr().As4()[3] - 10
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24),
		netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("fd00:244:%d::", n)), 64)
}

// Draw returns a picture of the topology for a person, without a final newline.
func (t Topology) Draw() string {
	var b strings.Builder
	line := func(h Host, note string) {
		fmt.Fprintf(&b, "   ├── %-6s %-3s %-12s %-20s %s\n", h.Port(), h.Name, h.Addr4.Addr(), h.Addr6.Addr(), note)
	}
	fmt.Fprintf(&b, " switch (%s)\n", t.Switch())
	line(t.Client, "the client")
	for _, n := range t.Nodes {
		var names []string
		for _, p := range t.PodsOf(n.Name) {
			names = append(names, p.Name)
		}
		note := "no pods"
		if len(names) > 0 {
			note = "pods " + strings.Join(names, ", ")
		}
		line(n, note)
	}
	s := strings.TrimRight(b.String(), "\n")
	i := strings.LastIndex(s, "├")
	return s[:i] + "└" + s[i+len("├"):]
}
