package plan

import (
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// deliver is what the program above the uplink does with a packet for a VIP: it
// goes to the endpoint that has the flow, or to a node that may know more.
// Whether the client may use the service has been found out, whichever way the
// packet has come.
func (w *walk) deliver() Verdict {
	f, known := w.t.flow(w.tuple, w.now)
	lent := known && f.State == Lent
	switch {
	case known && w.keeps(f):
		return w.toKnown(f)
	case known && !lent:
		w.writes.Delete = &w.tuple
	}
	if w.p.opens() {
		return w.open(lent)
	}
	return w.search()
}

// keeps reports whether the flow's endpoint goes on having it.
func (w *walk) keeps(f Flow) bool {
	e := w.svc.endpoint(f.Endpoint)
	switch {
	case f.State == Lent, e == nil, e.Addr != f.Pod, e.Node != w.s.Self:
		return false
	case f.Tuple.Proto == uint8(lb.UDP):
		// It never ends by itself, and must not keep to an endpoint that is out of
		// service.
		return e.Usable
	case w.p.opens() && f.State == Closing:
		// Another connection from the same port: by the table, if the endpoint
		// takes no new ones.
		return e.Active
	}
	return true
}

// toKnown delivers a packet of a known flow. That includes a repeated SYN: if
// the endpoint has answered the first one, nobody else may answer the second.
func (w *walk) toKnown(f Flow) Verdict {
	if w.p.ICMP.Kind == ICMPError {
		out := w.p
		out.Dst = f.Pod.Addr()
		q := &out.ICMP.Quote
		q.Src, q.SrcPort, q.DstPort = f.Pod.Addr(), f.Pod.Port(), f.Port
		return Verdict{Reason: DeliveredICMP, Packet: out, Writes: w.writes}
	}
	f.Seen = w.now
	switch flags := w.p.TCP; {
	case w.p.opens() && !w.p.tcp() && !w.p.sctp(): // UDP
		if f.Answered {
			f.State = Established
		}
	case w.p.opens():
		if f.State == Closing { // another connection, or an attack: an ACK makes up for it
			f.State = Embryonic
		}
		f.MSS = w.mss()
	case flags&(RST|FIN) != 0:
		f.State = Closing
	case f.State == Embryonic && f.Answered && flags&ACK != 0:
		f.State = Established
	}
	w.writes.Put = &f
	return w.toEndpoint(f, DeliveredKnown)
}

// toEndpoint translates the packet.
func (w *walk) toEndpoint(f Flow, why Reason) Verdict {
	out := w.p
	out.Dst, out.DstPort, out.SrcPort = f.Pod.Addr(), f.Pod.Port(), f.Port
	return Verdict{Reason: why, Packet: out, Writes: w.writes}
}

// start makes a flow to an endpoint on this node.
func (w *walk) start(e *Endpoint, why Reason) Verdict {
	f := Flow{Tuple: w.tuple, Pod: e.Addr, Endpoint: e.ID, Port: w.tuple.SrcPort, Seen: w.now, MSS: w.mss()}
	for try := uint32(1); w.taken(f); try++ {
		switch {
		case w.p.sctp():
			return w.end(PortTaken)
		case try > portTries:
			return w.end(PortsExhausted)
		}
		f.Port = uint16(firstPort + (uint32(w.tuple.Hash(w.s.Seed))+try*portStep)%(1<<16-firstPort))
	}
	w.writes.Put, w.writes.Delete = &f, nil
	return w.toEndpoint(f, why)
}

// A client's port that is taken at the endpoint gives way to one of portTries
// others, firstPort … 65535.
const (
	portTries = 16
	portStep  = 0x9e37
	firstPort = 1024
)

// taken reports whether another flow looks the same to the endpoint.
func (w *walk) taken(f Flow) bool {
	other, ok := w.t.answer(f.reverse(), w.now)
	return ok && other.Tuple != f.Tuple
}

// mss is what fits the tunnel that the packet came through.
func (w *walk) mss() uint16 {
	n := w.s.node(w.from)
	if !w.tunnel.Tunnelled() || n == nil {
		return 0
	}
	headers := 40
	if w.tuple.Dst.Is6() {
		headers = 60
	}
	return uint16(n.MTU - w.tunnel.Overhead(w.in.Outer.Dst) - headers)
}

// reply is what the program on the way out does: answers get the VIP as source.
func (w *walk) reply() Verdict {
	p := &w.p
	if p.ICMP.Kind == ICMPError {
		return w.replyICMP()
	}
	back := maglev.Tuple{Src: p.Src, SrcPort: p.SrcPort, Dst: p.Dst, DstPort: p.DstPort, Proto: p.Proto}
	if p.Fragment.Later() {
		h, ok := w.t.head(p.datagram(), w.now)
		if !ok {
			return w.end(ReplyNotOurs)
		}
		back.SrcPort, back.DstPort, p.TCP = h.SrcPort, h.DstPort, 0
	}
	f, ok := w.t.answer(back, w.now)
	if !ok {
		return w.end(ReplyNotOurs)
	}
	if p.Fragment.First() {
		w.writes.Head = &Head{Datagram: p.datagram(), SrcPort: p.SrcPort, DstPort: p.DstPort, Seen: w.now}
	}
	f.Seen = w.now
	f.Answered = f.Answered || p.TCP&RST == 0
	if p.TCP&(RST|FIN) != 0 {
		f.State = Closing
	}
	w.writes.Put = &f
	if p.TCP&SYN != 0 && f.MSS != 0 && p.MSS > f.MSS {
		p.MSS = f.MSS
	}
	p.Src, p.SrcPort, p.DstPort = f.Tuple.Dst, f.Tuple.DstPort, f.Tuple.SrcPort
	return Verdict{Reason: Replied, Packet: *p, Writes: w.writes}
}

// replyICMP makes an error about a packet to an endpoint one about the packet
// that the client sent. Those from a router before the endpoint keep its address.
func (w *walk) replyICMP() Verdict {
	q := &w.p.ICMP.Quote
	f, ok := w.t.answer(maglev.Tuple{Src: q.Dst, SrcPort: q.DstPort, Dst: q.Src, DstPort: q.SrcPort, Proto: q.Proto}, w.now)
	if !ok || w.p.Dst != f.Tuple.Src {
		return w.end(ReplyNotOurs)
	}
	if w.p.Src == f.Pod.Addr() {
		w.p.Src = f.Tuple.Dst
	}
	q.Dst, q.DstPort, q.SrcPort = f.Tuple.Dst, f.Tuple.DstPort, f.Tuple.SrcPort
	return Verdict{Reason: RepliedICMP, Packet: w.p, Writes: w.writes}
}
