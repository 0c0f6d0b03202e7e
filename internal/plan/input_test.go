package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// cluster is what the manifests and the network say, as tests write it:
//
//	node NAME [off-segment] [mode MODE] [mtu N] ADDRESS…
//	service NAME ADDRESS… [local] [affinity TIME] [sources PREFIX,…|none] [kube-proxy]
//	  port PORT/PROTO
//	    ADDRESS:PORT NODE [ready|serving|not-ready]
//	owner VIP NODE
type cluster struct {
	snapshot lb.Snapshot
	peers    []Peer
	owners   map[netip.Addr]string
}

func parseCluster(text string) (c *cluster, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("bad cluster: %v", r)
		}
	}()
	c = &cluster{owners: make(map[netip.Addr]string)}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "node":
			c.node(words[1], words[2:])
		case "service":
			c.service(words[1], words[2:])
		case "port":
			svc := &c.snapshot.Services[len(c.snapshot.Services)-1]
			port, proto := portProto(words[1])
			svc.Ports = append(svc.Ports, lb.ServicePort{Port: port, Protocol: proto})
		case "owner":
			c.owners[netip.MustParseAddr(words[1])] = words[2]
		default:
			svc := &c.snapshot.Services[len(c.snapshot.Services)-1]
			port := &svc.Ports[len(svc.Ports)-1]
			e := lb.Endpoint{Addr: netip.MustParseAddrPort(words[0]), Node: words[1], Ready: true, Serving: true}
			if len(words) > 2 {
				e.Ready = words[2] == "ready"
				e.Serving = words[2] != "not-ready"
				e.Terminating = words[2] == "serving"
			}
			port.Endpoints = append(port.Endpoints, e)
		}
	}
	slices.SortFunc(c.snapshot.Nodes, func(a, b lb.Node) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

func portProto(s string) (uint16, lb.Protocol) {
	number, proto, _ := strings.Cut(s, "/")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		panic(err)
	}
	p, ok := map[string]lb.Protocol{"TCP": lb.TCP, "UDP": lb.UDP, "SCTP": lb.SCTP}[proto]
	if !ok {
		panic("protocol " + proto)
	}
	return uint16(n), p
}

func (c *cluster) node(name string, words []string) {
	peer := Peer{Name: name, MAC: mac(name), SameSegment: true}
	for len(words) > 0 {
		switch w := words[0]; w {
		case "off-segment":
			peer.SameSegment, peer.MAC = false, mac("rt")
		case "no-mac":
			peer.MAC = lb.MAC{}
		case "mode":
			var ok bool
			if peer.Mode, ok = ParseMode(words[1]); !ok {
				panic("mode " + words[1])
			}
			words = words[1:]
		case "mtu":
			n, err := strconv.Atoi(words[1])
			if err != nil {
				panic(err)
			}
			peer.MTU = n
			words = words[1:]
		default:
			peer.Addrs = append(peer.Addrs, netip.MustParseAddr(w))
		}
		words = words[1:]
	}
	c.peers = append(c.peers, peer)
	c.snapshot.Nodes = append(c.snapshot.Nodes, lb.Node{Name: name, Addresses: peer.Addrs})
}

func (c *cluster) service(name string, words []string) {
	ns, n, _ := strings.Cut(name, "/")
	svc := lb.Service{Name: lb.ObjectName{Namespace: ns, Name: n}}
	for len(words) > 0 {
		switch w := words[0]; w {
		case "local":
			svc.LocalOnly = true
		case "kube-proxy":
			svc.Forwarding = lb.ForwardingKubeProxy
		case "affinity":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				panic(err)
			}
			svc.AffinityTimeout = d
			words = words[1:]
		case "sources":
			svc.Restricted = true
			if words[1] != "none" {
				for p := range strings.SplitSeq(words[1], ",") {
					svc.SourceRanges = append(svc.SourceRanges, netip.MustParsePrefix(p))
				}
			}
			words = words[1:]
		default:
			svc.Addresses = append(svc.Addresses, netip.MustParseAddr(w))
		}
		words = words[1:]
	}
	c.snapshot.Services = append(c.snapshot.Services, svc)
}

// facts are those of one node. Whether two nodes share a segment is a matter of
// both: there is one segment, and each off-segment node is alone.
func (c *cluster) facts(self string, now time.Duration) Facts {
	f := Facts{Self: self, MACs: []lb.MAC{mac(self)}, Routers: []lb.MAC{mac("rt")}, Seed: 7, Now: now, Forwarding: lb.ForwardingDSR}
	away := slices.ContainsFunc(c.peers, func(p Peer) bool { return p.Name == self && !p.SameSegment })
	for _, p := range c.peers {
		if away && p.Name != self {
			p.SameSegment, p.MAC = false, mac("rt")
		}
		f.Peers = append(f.Peers, p)
	}
	for _, v := range c.snapshot.VIPs() {
		f.VIPs = append(f.VIPs, Served{Addr: v.Addr, Owner: c.owners[v.Addr]})
	}
	return f
}

// plan moves a node on to the cluster as it is now.
func (c *cluster) plan(m *member, now time.Duration) {
	m.state = Plan(&c.snapshot, c.facts(m.name, now), m.state)
}

// parsePacket reads what [Packet.String] writes, MACs by name, and gives what
// isn't said a usual value.
func parsePacket(text string) (p Packet, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = Packet{}, fmt.Errorf("bad packet %q: %v", text, r)
		}
	}()
	p = Packet{TTL: 64, Len: 60}
	words := strings.Fields(text)
	next := func() string {
		w := words[0]
		words = words[1:]
		return w
	}
	number := func(bits int) uint64 {
		n, err := strconv.ParseUint(next(), 10, bits)
		if err != nil {
			panic(err)
		}
		return n
	}
	for len(words) > 0 {
		switch w := next(); w {
		case "out":
			p.Egress = true
		case "gue", "ipip", "gre":
			p.Outer.Mode, _ = ParseMode(w)
			src, dst, _ := strings.Cut(next(), ">")
			p.Outer.Src, p.Outer.Dst = netip.MustParseAddr(src), netip.MustParseAddr(dst)
		case "bad-tunnel":
			p.Outer.Malformed = true
		case "tcp", "udp", "sctp":
			p.Proto = protocol(w)
			src, dst := addrPorts(next())
			p.Src, p.SrcPort, p.Dst, p.DstPort = src.Addr(), src.Port(), dst.Addr(), dst.Port()
		case "icmp", "proto-4", "proto-47":
			src, dst, _ := strings.Cut(next(), ">")
			p.Src, p.Dst = netip.MustParseAddr(src), netip.MustParseAddr(dst)
			p.Proto = map[string]uint8{"icmp": ProtoICMP, "proto-4": 4, "proto-47": 47}[w]
			if w == "icmp" {
				p.ICMP.Kind = ICMPKind(slices.Index(icmpNames[:], next()))
				if p.Src.Is6() {
					p.Proto = ProtoICMPv6
				}
			}
		case "quote":
			proto := protocol(next())
			src, dst := addrPorts(next())
			p.ICMP.Quote = maglev.Tuple{Src: src.Addr(), SrcPort: src.Port(), Dst: dst.Addr(), DstPort: dst.Port(), Proto: proto}
		case "mss":
			p.MSS = uint16(number(16))
		case "ttl":
			p.TTL = uint8(number(8))
		case "len":
			p.Len = int(number(16))
		case "dscp":
			p.DSCP = uint8(number(6))
		case "df":
			p.Fragment.DontFragment = true
		case "malformed":
			p.Malformed = true
		case "fragment":
			p.Fragment.ID = uint32(number(32))
			next() // at
			at, more := strings.CutSuffix(next(), "+")
			n, err := strconv.Atoi(at)
			if err != nil || n%8 != 0 {
				panic("offset " + at)
			}
			p.Fragment.Offset, p.Fragment.More = uint16(n/8), more
			if n > 0 {
				p.SrcPort, p.DstPort = 0, 0
			}
		default:
			switch src, dst, ok := strings.Cut(w, ">"); {
			case ok && p.Proto == 0:
				p.EthSrc, p.EthDst = mac(src), mac(dst)
			default:
				p.TCP |= flags(w)
			}
		}
	}
	return p, nil
}

func protocol(w string) uint8 {
	_, p := portProto("0/" + strings.ToUpper(w))
	return uint8(p)
}

func addrPorts(w string) (src, dst netip.AddrPort) {
	a, b, _ := strings.Cut(w, ">")
	return netip.MustParseAddrPort(a), netip.MustParseAddrPort(b)
}

func flags(w string) TCPFlags {
	var f TCPFlags
	for name := range strings.SplitSeq(w, "+") {
		flag, ok := map[string]TCPFlags{"syn": SYN, "ack": ACK, "fin": FIN, "rst": RST}[name]
		if !ok {
			panic("flag " + name)
		}
		f |= flag
	}
	return f
}
