package plan

import (
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// forward sends the packet to another node, with the mark of that hop if it is
// above 0. The TTL stays: neither another MAC nor a tunnel is a router, and no
// packet travels far, see [MaxHops].
func (w *walk) forward(to NodeID, hop int, why Reason) Verdict {
	n := w.s.node(to)
	if n == nil {
		return w.end(Unreachable)
	}
	out := w.p
	out.EthDst, out.EthSrc = n.MAC, w.s.MACs[0]
	if hop > 0 {
		out.Dst = w.vip.Marks[hop-1]
	}
	mode := n.Mode
	if mode == ModeDSCP {
		mode = w.dscp(n, hop, &out)
	}
	if mode.Tunnelled() {
		outer := n.Addrs[0]
		src, ok := addressed(w.self().Addrs, outer)
		if !ok {
			return w.end(Unreachable)
		}
		if room := n.MTU - mode.Overhead(outer); w.p.Len > room {
			if w.p.Dst.Is4() && !w.p.Fragment.DontFragment {
				return w.end(TooBigNoDF)
			}
			v := w.refuse(TooBig)
			v.Packet.ICMP.MTU = uint16(room)
			return v
		}
		out.Outer = Outer{Mode: mode, Src: src, Dst: outer}
	}
	if mode == ModeNone {
		return w.end(Unreachable)
	}
	return Verdict{Reason: why, Packet: out, Node: n.ID, Writes: w.writes}
}

// dscp rewrites the destination of out, if there is a code for the VIP and the
// packet has no mark, and returns the mode to go on with. In the client's
// DSCP, which the code takes the place of, is nothing that the endpoint gets.
func (w *walk) dscp(n *Node, hop int, out *Packet) Mode {
	dst, ok := addressed(n.Addrs, w.vip.Addr)
	switch {
	case hop == 0 && ok && w.vip.DSCP != 0 && w.p.ICMP.Kind == NotICMP:
		out.Dst, out.DSCP = dst, w.vip.DSCP
		return ModeDSCP
	case n.OnSegment:
		return ModeL2
	}
	return ModeGUE
}

// answer is the packet that goes back to the client from the VIP.
func (w *walk) answer() Packet {
	a := Packet{EthSrc: w.s.MACs[0], Src: w.p.Dst, Dst: w.p.Src, TTL: 64}
	if !w.member {
		a.EthDst = w.in.EthSrc
	}
	return a
}

// refuse tells the client why not, as a host would: by RST or an ICMP error. It
// does so to first fragments only (RFC 1122 §3.2.2), never to an RST (RFC 9293
// §3.5.2), never to a control message, and not too often.
func (w *walk) refuse(why Reason) Verdict {
	switch {
	case w.p.TCP&RST != 0:
		return w.end(RSTUnknownFlow)
	case !w.welcome():
		return w.end(SourceDenied)
	case w.p.ICMP.Kind != NotICMP, w.p.Fragment.Later(), !w.t.mayRefuse(w.now):
		return w.end(RefusalLimited)
	}
	w.writes.Refuse = true
	a := w.answer()
	if w.p.tcp() && why != TooBig {
		a.Proto, a.TCP = w.p.Proto, RST|ACK
		a.SrcPort, a.DstPort = w.p.DstPort, w.p.SrcPort
		a.Len = 40
	} else {
		a.Proto, a.ICMP.Kind = ProtoICMP, ICMPError
		a.ICMP.Quote = maglev.Tuple{Src: w.p.Src, SrcPort: w.p.SrcPort, Dst: w.p.Dst, DstPort: w.p.DstPort, Proto: w.p.Proto}
		a.Len = 20 + 8 + min(w.p.Len, quoteLen)
	}
	if w.p.Dst.Is6() {
		a.Len += 20
		if a.Proto == ProtoICMP {
			a.Proto = ProtoICMPv6
		}
	}
	return Verdict{Reason: why, Packet: a, Writes: w.writes}
}

// quoteLen is how much of a packet an error about it quotes at most: headers
// and 64 bits at least (RFC 792), here with room for options.
const quoteLen = 128
