package topo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Bridge is the switch's bridge, OtherBridge the second one, which has no
// ports until the segment is split.
const (
	Bridge      = "br0"
	OtherBridge = "br1"
)

// podGateway6 is the node's link-local address on every pod's cable.
var podGateway6 = netip.MustParseAddr("fe80::1")

// Network is a topology that stands.
type Network struct {
	Topology
	Switch *netns.Namespace
	spaces map[string]*netns.Namespace // by host or pod name
}

// Build makes the namespaces, cables, addresses and routes of t. If it fails,
// it has removed everything that it made.
func Build(ctx context.Context, t Topology) (*Network, error) {
	n := &Network{Topology: t, spaces: make(map[string]*netns.Namespace)}
	if err := n.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("build network %s: %w", t.Prefix, err), n.Remove())
	}
	return n, nil
}

// Open opens a network that was built by another process.
func Open(t Topology) (*Network, error) {
	n := &Network{Topology: t, spaces: make(map[string]*netns.Namespace)}
	var err error
	if n.Switch, err = netns.Open(t.Switch()); err != nil {
		return nil, err
	}
	for _, name := range n.names() {
		if n.spaces[name], err = netns.Open(t.Namespace(name)); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	return n, nil
}

// Namespace returns the namespace of a host or pod of the topology.
func (n *Network) Namespace(name string) *netns.Namespace {
	ns, ok := n.spaces[name]
	if !ok {
		panic("no host or pod called " + name)
	}
	return ns
}

// Close lets go of the namespaces and leaves them standing.
func (n *Network) Close() error {
	var errs []error
	if n.Switch != nil {
		errs = append(errs, n.Switch.Close())
	}
	for _, ns := range n.spaces {
		errs = append(errs, ns.Close())
	}
	n.Switch, n.spaces = nil, nil
	return errors.Join(errs...)
}

// Remove takes down what was built. Processes inside must have ended.
func (n *Network) Remove() error {
	var errs []error
	if n.Switch != nil {
		errs = append(errs, netns.Delete(n.Switch.Name()))
	}
	for _, ns := range n.spaces {
		errs = append(errs, netns.Delete(ns.Name()))
	}
	return errors.Join(append(errs, n.Close())...)
}

func (n *Network) names() []string {
	var names []string
	for _, h := range n.Hosts() {
		names = append(names, h.Name)
	}
	for _, p := range n.Pods {
		names = append(names, p.Name)
	}
	return names
}

func (n *Network) build(ctx context.Context) error {
	var err error
	if n.Switch, err = create(n.Topology.Switch(), switchSysctls); err != nil {
		return err
	}
	for _, name := range n.names() {
		if err := ctx.Err(); err != nil {
			return err
		}
		settings := hostSysctls
		for _, node := range n.Nodes {
			if node.Name == name {
				settings = append(append([]netns.Sysctl(nil), hostSysctls...), nodeSysctls...)
			}
		}
		ns, err := create(n.Topology.Namespace(name), settings)
		if err != nil {
			return err
		}
		n.spaces[name] = ns
	}
	if err := n.buildSwitch(); err != nil {
		return err
	}
	for _, p := range n.Pods {
		if err := n.connectPod(p); err != nil {
			return fmt.Errorf("connect pod %s: %w", p.Name, err)
		}
	}
	for _, node := range n.Nodes {
		if err := n.routePods(node); err != nil {
			return fmt.Errorf("route to pods on %s: %w", node.Name, err)
		}
	}
	return nil
}

// create makes a namespace with its settings and loopback up.
func create(name string, settings []netns.Sysctl) (*netns.Namespace, error) {
	ns, err := netns.Create(name)
	if err != nil {
		return nil, err
	}
	err = ns.Set(settings...)
	if err == nil {
		err = withNetlink(ns, func(h *netlink.Handle) error {
			lo, err := h.LinkByName("lo")
			if err != nil {
				return err
			}
			return h.LinkSetUp(lo)
		})
	}
	if err != nil {
		return nil, errors.Join(err, netns.Delete(name), ns.Close())
	}
	return ns, nil
}

func (n *Network) buildSwitch() error {
	return withNetlink(n.Switch, func(h *netlink.Handle) error {
		snooping := false
		for i, name := range []string{Bridge, OtherBridge} {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = name
			attrs.HardwareAddr = net.HardwareAddr{2, 0, 0, 0, 2, byte(i)}
			// Without a querier on the segment snooping forgets groups in time.
			br := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}
			if err := h.LinkAdd(br); err != nil {
				return fmt.Errorf("add bridge %s: %w", name, err)
			}
			if err := h.LinkSetUp(br); err != nil {
				return fmt.Errorf("set bridge %s up: %w", name, err)
			}
		}
		br, err := h.LinkByName(Bridge)
		if err != nil {
			return err
		}
		for _, host := range n.Hosts() {
			if err := n.connectHost(h, br, host); err != nil {
				return fmt.Errorf("connect %s: %w", host.Name, err)
			}
		}
		return nil
	})
}

func (n *Network) connectHost(sw *netlink.Handle, br netlink.Link, host Host) error {
	ns := n.spaces[host.Name]
	port, err := addCable(sw, host.Port(), ns, "eth0", host.MAC)
	if err != nil {
		return err
	}
	if err := sw.LinkSetMaster(port, br); err != nil {
		return fmt.Errorf("put port %s on %s: %w", host.Port(), Bridge, err)
	}
	if host.Name != n.Client.Name {
		err := n.Switch.Do(func() error { return setOffloads(host.Port(), switchPortOffloads) })
		if err != nil {
			return err
		}
	}
	if err := sw.LinkSetUp(port); err != nil {
		return err
	}
	return configure(ns, "eth0", host.Addr4, host.Addr6)
}

func (n *Network) connectPod(p Pod) error {
	node, pod := n.spaces[p.Node], n.spaces[p.Name]
	gateway4 := n.nodeAddr4(p.Node)
	err := withNetlink(node, func(h *netlink.Handle) error {
		link, err := addCable(h, p.veth, pod, "eth0", lb.MAC{})
		if err != nil {
			return err
		}
		if err := addAddr(h, link, netip.PrefixFrom(podGateway6, 64)); err != nil {
			return err
		}
		if err := h.LinkSetUp(link); err != nil {
			return err
		}
		for _, a := range []netip.Addr{p.Addr4, p.Addr6} {
			if err := addRoute(h, link, netip.PrefixFrom(a, a.BitLen()), netip.Addr{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := configure(pod, "eth0", netip.PrefixFrom(p.Addr4, 32), netip.PrefixFrom(p.Addr6, 128)); err != nil {
		return err
	}
	return withNetlink(pod, func(h *netlink.Handle) error {
		link, err := h.LinkByName("eth0")
		if err != nil {
			return err
		}
		// The node answers ARP for any of its addresses on any of its interfaces.
		if err := addRoute(h, link, netip.PrefixFrom(netip.IPv4Unspecified(), 0), gateway4); err != nil {
			return err
		}
		return addRoute(h, link, netip.PrefixFrom(netip.IPv6Unspecified(), 0), podGateway6)
	})
}

// routePods gives a node its routes to the pods on the others.
func (n *Network) routePods(node Host) error {
	return withNetlink(n.spaces[node.Name], func(h *netlink.Handle) error {
		link, err := h.LinkByName("eth0")
		if err != nil {
			return err
		}
		for _, other := range n.Nodes {
			if other.Name == node.Name {
				continue
			}
			v4, v6 := podNet(other)
			if err := addRoute(h, link, v4, other.Addr4.Addr()); err != nil {
				return err
			}
			if err := addRoute(h, link, v6, other.Addr6.Addr()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (n *Network) nodeAddr4(name string) netip.Addr {
	for _, node := range n.Nodes {
		if node.Name == name {
			return node.Addr4.Addr()
		}
	}
	panic("no node called " + name)
}

// addCable makes a veth pair with one end here and the other in a namespace.
func addCable(h *netlink.Handle, name string, to *netns.Namespace, peer string, mac lb.MAC) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	veth := netlink.NewVeth(attrs)
	veth.PeerName = peer
	veth.PeerNamespace = netlink.NsFd(to.FD())
	if !mac.IsZero() {
		veth.PeerHardwareAddr = mac[:]
	}
	if err := h.LinkAdd(veth); err != nil {
		return nil, fmt.Errorf("add cable %s: %w", name, err)
	}
	link, err := h.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find cable %s: %w", name, err)
	}
	return link, nil
}

// configure sets an interface up and gives it its addresses.
func configure(ns *netns.Namespace, ifname string, addrs ...netip.Prefix) error {
	return withNetlink(ns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(ifname)
		if err != nil {
			return err
		}
		if err := h.LinkSetUp(link); err != nil {
			return err
		}
		for _, a := range addrs {
			if err := addAddr(h, link, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func addAddr(h *netlink.Handle, link netlink.Link, a netip.Prefix) error {
	addr := &netlink.Addr{IPNet: ipNet(a)}
	if a.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD
	}
	if err := h.AddrAdd(link, addr); err != nil {
		return fmt.Errorf("add address %s to %s: %w", a, link.Attrs().Name, err)
	}
	return nil
}

// addRoute adds a route through an interface; via may be the zero Addr.
func addRoute(h *netlink.Handle, link netlink.Link, dst netip.Prefix, via netip.Addr) error {
	r := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(dst), Scope: netlink.SCOPE_LINK}
	if via.IsValid() {
		r.Gw = via.AsSlice()
		r.Scope = netlink.SCOPE_UNIVERSE
		r.SetFlag(netlink.FLAG_ONLINK)
	}
	if err := h.RouteAdd(r); err != nil {
		return fmt.Errorf("add route to %s: %w", dst, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func withNetlink(ns *netns.Namespace, fn func(*netlink.Handle) error) error {
	h, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer h.Close()
	return fn(h)
}
