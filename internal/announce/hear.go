package announce

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
)

// verdict is what is done about a frame: it is answered, or not for a reason.
// A claim that is contradicted has both.
type verdict struct {
	ignored Ignored
	kind    Sent // SentNothing: there is no frame
	frame   packet.Frame
}

// speaker is who sent a message.
type speaker uint8

const (
	stranger speaker = iota
	member
	ourselves
)

// message is what ARP and neighbour discovery have in common.
type message struct {
	asks   bool       // wants to be told where the target is
	sender netip.Addr // whom it claims to be; unspecified in a probe
	target netip.Addr
	by     lb.MAC // the station that would get the sender's packets
}

// readMessage takes the hardware address from where the receiver of the
// message takes it: from ARP's sender field and from the link-layer option. A
// switch that answers for others, or repeats frames under its own address,
// leaves those alone.
func readMessage(f packet.Frame) message {
	if f.Eth.Type == packet.TypeARP {
		a := f.ARP
		return message{asks: a.Op == packet.ARPRequest, sender: a.SenderIP, target: a.TargetIP, by: a.SenderMAC}
	}
	n := f.NDP
	m := message{asks: true, sender: n.Src, target: n.Target, by: n.Link}
	if n.Type == packet.Advertisement {
		m.asks, m.sender = false, n.Target
	}
	if m.by.IsZero() {
		m.by = f.Eth.Src
	}
	return m
}

func (s *segment) who(m lb.MAC) speaker {
	if m == s.link.MAC {
		return ourselves
	}
	if slices.Contains(s.link.Members, m) {
		return member
	}
	return stranger
}

// hear decides about a frame.
func (s *segment) hear(f packet.Frame, now time.Time) verdict {
	if f.Eth.VLAN() != 0 {
		return verdict{ignored: VLANTagged}
	}
	if group := f.Eth.Dst[0]&1 == 1; !group && f.Eth.Dst != s.link.MAC {
		return verdict{ignored: OtherHost}
	}
	m := readMessage(f)
	by := s.who(m.by)

	// Who speaks as the address claims it, whatever else he wants.
	if e := s.byAddr[m.sender]; e != nil {
		switch {
		case by == ourselves:
			return verdict{ignored: Reflected}
		case by == stranger:
			return s.claim(e, m.by, now)
		case !m.asks || m.sender == m.target:
			return verdict{ignored: MemberClaim}
		}
	}

	e := s.byAddr[m.target]
	switch {
	case !m.asks:
		return verdict{ignored: NotRequest}
	case e == nil:
		return verdict{ignored: NotAnnounced}
	case by == ourselves:
		return verdict{ignored: Reflected}
	}
	if m.sender.IsUnspecified() && by == stranger {
		s.do(e, func() { e.wanted(m.by, now) })
		if !e.answers() {
			return verdict{ignored: StrangerClaim}
		}
	}
	if !e.answers() {
		return verdict{ignored: NotYet}
	}
	return s.answer(f, now)
}

func (s *segment) answer(f packet.Frame, now time.Time) verdict {
	switch {
	case f.Eth.Type == packet.TypeARP:
		return verdict{kind: SentReply, frame: packet.Reply(f.ARP, s.link.MAC)}
	case !f.NDP.DAD():
		return verdict{kind: SentReply, frame: packet.Advertise(f, s.link.MAC)}
	case !s.limiter.AllowN(now, 1):
		return verdict{ignored: RateLimited}
	}
	return verdict{kind: SentGroupReply, frame: packet.Unsolicited(s.link.MAC, f.NDP.Target)}
}

func (s *segment) claim(e *entry, by lb.MAC, now time.Time) verdict {
	v := verdict{ignored: StrangerClaim}
	defend := false
	s.do(e, func() { defend = e.claimed(by, now) })
	if !defend || !s.limiter.AllowN(now, 1) {
		return v
	}
	v.kind = SentDefence
	if e.addr.Is4() {
		v.frame = packet.GratuitousRequest(s.link.MAC, e.addr)
	} else {
		v.frame = packet.Unsolicited(s.link.MAC, e.addr)
	}
	return v
}
