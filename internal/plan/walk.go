package plan

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// Verdict is what becomes of a packet on a node.
type Verdict struct {
	Reason Reason
	// Packet is what leaves, if something does: the packet as changed, or the
	// answer. An answer with a zero EthDst goes where the kernel routes it.
	Packet Packet
	Node   NodeID // that the packet is forwarded to
	Writes Writes // to the flow table
}

// Walk takes a packet through the programs of the node with state s and flow
// table t, which it doesn't change: the caller applies [Verdict.Writes].
func Walk(s *State, t *FlowTable, p Packet, now time.Duration) Verdict {
	w := walk{s: s, t: t, now: now, in: p, p: p}
	w.writes.Now = now
	if p.Egress {
		return w.reply()
	}
	return w.director()
}

// walk is a call of [Walk].
type walk struct {
	s   *State
	t   *FlowTable
	now time.Duration
	in  Packet // as it came
	p   Packet // on its way to an endpoint: no tunnel, no mark

	// Where it comes from.
	member bool   // a node sent it here: it is directed already
	from   NodeID // that node; 0 if it isn't known which one
	tunnel Mode   // that it came through, or 0
	hop    int    // how often it has been passed on

	// Whom it is for.
	vip   *VIP
	svc   *Service
	tuple maglev.Tuple // of its flow, from client to VIP

	writes Writes
}

// end is the verdict on the packet as it came.
func (w *walk) end(r Reason) Verdict { return Verdict{Reason: r, Packet: w.in, Writes: w.writes} }

// director is what the program at the uplink does with a frame.
func (w *walk) director() Verdict {
	if !slices.Contains(w.s.MACs, w.p.EthDst) {
		return w.end(NotOurMAC)
	}
	w.sender()
	if w.p.Outer.Mode != 0 {
		if why, opened := w.decapsulate(); !opened {
			return w.end(why)
		}
	}
	if why, ours := w.destination(); !ours {
		return w.end(why)
	}
	if why, sane := w.sane(); !sane {
		return w.end(why)
	}
	if v, done := w.control(); done {
		return v
	}
	if why, whole := w.ports(); !whole {
		return w.end(why)
	}
	if v, done := w.service(); done {
		return v
	}
	if !w.member {
		if e := w.current(); e != nil && e.Node != w.s.Self {
			return w.forward(e.Node, 0, Directed)
		}
	}
	return w.deliver()
}

// sender finds out whether a node sent the frame.
func (w *walk) sender() {
	for _, n := range w.s.Nodes {
		if n.OnSegment && n.MAC == w.p.EthSrc {
			w.member, w.from = true, n.ID
		}
	}
}

// self is the node that all this happens on.
func (w *walk) self() *Node { return w.s.node(w.s.Self) }

// decapsulate opens a tunnel from another node. IPIP and GRE may be anybody's,
// also between nodes: what isn't for a VIP goes to the kernel as it came.
func (w *walk) decapsulate() (why Reason, opened bool) {
	outer := w.p.Outer
	refused := func(why Reason) (Reason, bool) {
		if outer.Mode != ModeGUE {
			why = TunnelNotOurs
		}
		return why, false
	}
	if !slices.Contains(w.self().Addrs, outer.Dst) {
		return TunnelNotOurs, false
	}
	i := slices.IndexFunc(w.s.Nodes, func(n Node) bool {
		return n.ID != w.s.Self && slices.Contains(n.Addrs, outer.Src) && (!n.OnSegment || n.MAC == w.p.EthSrc)
	})
	if i < 0 {
		return refused(TunnelStranger)
	}
	if outer.Malformed {
		return refused(TunnelMalformed)
	}
	if w.s.vip(w.p.Dst) == nil && !InMarkSpace(w.p.Dst) {
		return refused(TunnelInner)
	}
	w.member, w.from, w.tunnel = true, w.s.Nodes[i].ID, outer.Mode
	w.p.Outer = Outer{}
	return 0, true
}

// destination finds the VIP that the packet is for, by whatever name it is called.
func (w *walk) destination() (why Reason, ours bool) {
	w.fromDSCP()
	if w.vip = w.s.vip(w.p.Dst); w.vip != nil {
		return 0, true
	}
	v, hop := w.s.marked(w.p.Dst)
	switch {
	case v != nil && w.member:
		w.vip, w.hop, w.p.Dst = v, hop, v.Addr
		return 0, true
	case v != nil:
		return MarkStranger, false
	case w.member && InMarkSpace(w.p.Dst):
		return MarkUnknown, false
	}
	return NotVIP, false
}

// fromDSCP turns a packet for this node that a director has marked for a VIP
// back into one for the VIP. Only frames of directors qualify, and only if
// there is such a service: others mark their packets as well.
func (w *walk) fromDSCP() {
	if w.p.DSCP == 0 || !w.p.ported() || !slices.Contains(w.self().Addrs, w.p.Dst) {
		return
	}
	if !w.member && !slices.Contains(w.s.Routers, w.p.EthSrc) {
		return
	}
	i := slices.IndexFunc(w.s.VIPs, func(v VIP) bool { return v.DSCP == w.p.DSCP && v.Addr.Is4() == w.p.Dst.Is4() })
	if i < 0 {
		return
	}
	marked := w.p
	marked.Dst = w.s.VIPs[i].Addr
	port := marked.DstPort
	if marked.Fragment.Later() {
		h, _ := w.t.head(marked.datagram(), w.now)
		port = h.DstPort
	}
	if svc := w.s.service(marked.Dst, port, lb.Protocol(marked.Proto)); svc == nil || svc.Flags&PassUp != 0 {
		return
	}
	w.p, w.member = marked, true
	w.p.DSCP = 0
}

// sane refuses what no host would send.
func (w *walk) sane() (why Reason, ok bool) {
	src := w.p.Src
	switch {
	case w.p.Malformed:
		return Malformed, false
	case w.p.TTL == 0:
		return TTLZero, false
	case w.s.vip(src) != nil, InMarkSpace(src), src.IsUnspecified(), src.IsMulticast(), src.IsLoopback():
		return MartianSource, false
	}
	return 0, true
}

// control deals with control messages that concern no flow, and finds the flow
// of those that do.
func (w *walk) control() (v Verdict, done bool) {
	switch w.p.ICMP.Kind {
	case NotICMP:
		if w.p.ported() {
			return v, false
		}
		return w.refuse(ProtocolClosed), true
	case NeighbourDiscovery:
		return w.end(NeighbourMessage), true
	case EchoRequest:
		return w.pong(), true
	case ICMPError:
		q := w.p.ICMP.Quote
		if q.Src != w.vip.Addr {
			return w.end(ICMPForeign), true
		}
		w.tuple = maglev.Tuple{Src: q.Dst, SrcPort: q.DstPort, Dst: q.Src, DstPort: q.SrcPort, Proto: q.Proto}
		return v, false
	}
	return w.end(ICMPIgnored), true
}

// pong answers a ping, unless the client isn't welcome on the VIP at all. That
// of more than one fragment would have to be put together first.
func (w *walk) pong() Verdict {
	if w.p.Fragment.More || w.p.Fragment.Later() {
		return w.end(ICMPIgnored)
	}
	if !w.welcome() {
		return w.end(SourceDenied)
	}
	a := w.answer()
	a.ICMP.Kind = OtherICMP // an echo reply
	a.Len = w.p.Len
	a.Proto = w.p.Proto
	return Verdict{Reason: PingAnswered, Packet: a, Writes: w.writes}
}

// welcome reports whether any service of the VIP is for this client.
func (w *walk) welcome() bool {
	return slices.ContainsFunc(w.s.Services, func(s Service) bool {
		return s.VIP == w.vip.Addr && s.Flags&PassUp == 0 && s.permits(w.p.Src)
	})
}

// datagram is what p, if it is a fragment, is a fragment of.
func (p Packet) datagram() Datagram { return Datagram{p.Src, p.Dst, p.Proto, p.Fragment.ID} }

// ports finds the flow of the packet. Later fragments have that of the first.
func (w *walk) ports() (why Reason, ok bool) {
	if w.p.ICMP.Kind == ICMPError {
		return 0, true
	}
	switch f := w.p.Fragment; {
	case f.Later():
		h, ok := w.t.head(w.p.datagram(), w.now)
		if !ok {
			return FragmentEarly, false
		}
		// What lies where the flags would be is payload.
		w.p.SrcPort, w.p.DstPort, w.p.TCP = h.SrcPort, h.DstPort, 0
	case f.First():
		w.writes.Head = &Head{Datagram: w.p.datagram(), SrcPort: w.p.SrcPort, DstPort: w.p.DstPort, Seen: w.now}
	}
	w.tuple = maglev.Tuple{Src: w.p.Src, SrcPort: w.p.SrcPort, Dst: w.p.Dst, DstPort: w.p.DstPort, Proto: w.p.Proto}
	return 0, true
}

// service finds the service, and whether the client may use it.
func (w *walk) service() (v Verdict, done bool) {
	w.svc = w.s.service(w.tuple.Dst, w.tuple.DstPort, lb.Protocol(w.tuple.Proto))
	switch {
	case w.svc == nil && w.p.ICMP.Kind == ICMPError:
		return w.end(ICMPUnknownFlow), true
	case w.svc == nil && w.member && (w.hop > 0 || !w.p.opens()):
		// The one who sent it knows a service there. A refusal by us might end a
		// connection that somebody has.
		return w.end(ServiceUnknown), true
	case w.svc == nil:
		return w.refuse(PortClosed), true
	case w.svc.Flags&PassUp != 0:
		return w.end(LeftToServiceProxy), true
	case !w.svc.permits(w.tuple.Src):
		return w.end(SourceDenied), true
	}
	return v, false
}

// hash is the hash of the flow that the table goes by.
func (w *walk) hash() uint64 {
	if w.svc.Flags&Affinity != 0 {
		return w.tuple.Client().Hash(w.s.Seed)
	}
	return w.tuple.Hash(w.s.Seed)
}

// current is the endpoint that the table says, or nil.
func (w *walk) current() *Endpoint {
	slots := w.svc.History.Table.Slots
	if len(slots) == 0 {
		return nil
	}
	return w.svc.index(slots[maglev.SlotOf(w.hash(), len(slots))])
}

// index is the endpoint that slots and rows mean by i, or nil.
func (s *Service) index(i uint16) *Endpoint {
	if i == 0 || int(i) > len(s.Endpoints) {
		return nil
	}
	return &s.Endpoints[i-1]
}

// addressed returns an address of the list that is of the family of a.
func addressed(list []netip.Addr, a netip.Addr) (netip.Addr, bool) {
	i := slices.IndexFunc(list, func(b netip.Addr) bool { return b.Is4() == a.Is4() })
	if i < 0 {
		return netip.Addr{}, false
	}
	return list[i], true
}
