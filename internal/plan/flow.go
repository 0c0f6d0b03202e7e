package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// FlowState says how sure it is that both ends know a flow.
type FlowState uint8

// The states.
const (
	Embryonic   FlowState = iota // the client hasn't proved that it is there
	Established                  // the endpoint has answered, the client has gone on
	Closing                      // one end wants to end it
	// Lent: another node has been asked for the flow, and hasn't sent the packet
	// back. So it goes on being asked, however long ago the slot has changed.
	// Nothing but Tuple and Seen is known. For UDP alone: what tells whether a
	// TCP flow may be new is the packet.
	Lent
)

var flowStateNames = [...]string{"embryonic", "established", "closing", "lent"}

func (s FlowState) String() string { return flowStateNames[s] }

// How long a flow is known without packets of it.
const (
	EmbryonicIdle = 70 * time.Second             // a repeated SYN comes 31 s after the one before
	TCPIdle       = 2*time.Hour + 10*time.Minute // at least 2 h 4 min, RFC 5382 REQ-5
	ClosingIdle   = 2 * time.Minute
	UDPIdle       = 5 * time.Minute // at least 2, 5 recommended: RFC 4787 REQ-5
	SCTPIdle      = 2*time.Hour + 10*time.Minute
)

// Flow is what a delivery node knows of a connection.
type Flow struct {
	Tuple    maglev.Tuple // client to VIP
	Pod      netip.AddrPort
	Endpoint EndpointID
	// Port is the client's port as the endpoint sees it. It is another one than
	// in Tuple if two VIPs lead to one endpoint from one port of a client.
	Port  uint16
	State FlowState
	// Answered is true once the endpoint has said anything but RST.
	Answered bool
	Seen     time.Duration // when its last packet came
	// MSS is what the endpoint may announce so that the client's segments fit
	// the tunnel that they come through; 0 is any.
	MSS uint16
}

// reverse is the flow as its endpoint answers.
func (f Flow) reverse() maglev.Tuple {
	return maglev.Tuple{Src: f.Pod.Addr(), SrcPort: f.Pod.Port(), Dst: f.Tuple.Src, DstPort: f.Port, Proto: f.Tuple.Proto}
}

// idle is how long the flow may be silent.
func (f Flow) idle() time.Duration {
	switch {
	case f.State == Closing:
		return ClosingIdle
	case f.Tuple.Proto == uint8(lb.UDP):
		return UDPIdle
	case f.State == Embryonic:
		return EmbryonicIdle
	case f.Tuple.Proto == uint8(lb.SCTP):
		return SCTPIdle
	}
	return TCPIdle
}

// Datagram names what fragments belong to (RFC 791 §3.2, RFC 8200 §4.5).
type Datagram struct {
	Src, Dst netip.Addr
	Proto    uint8
	ID       uint32
}

// Head is what later fragments need to know of the first one.
type Head struct {
	Datagram         Datagram
	SrcPort, DstPort uint16
	TCP              TCPFlags
	Seen             time.Duration
}

// FragmentIdle is how long the first fragment of a datagram is remembered.
const FragmentIdle = 2 * time.Second

// RefusalsPerSecond is how many refusals a node sends in a second.
const RefusalsPerSecond = 100

// FlowTable is what a node remembers of packets. The zero value is empty.
// Nothing leaves it by itself: entries that are too old count as absent. It has
// no limit, unlike the maps of which it is the twin.
type FlowTable struct {
	flows   map[maglev.Tuple]Flow
	reverse map[maglev.Tuple]maglev.Tuple
	heads   map[Datagram]Head
	// The refusals sent in the second that began at tick.
	tick     time.Duration
	refusals int
}

// Writes are the changes to a flow table that follow from a packet.
type Writes struct {
	Put    *Flow         // comes in, or takes the place of what has its tuple
	Delete *maglev.Tuple // goes, before Put comes
	Head   *Head         // a first fragment to remember
	Refuse bool          // a refusal is sent
	Now    time.Duration
}

// Apply makes the changes.
func (t *FlowTable) Apply(w Writes) {
	if t.flows == nil {
		*t = FlowTable{flows: make(map[maglev.Tuple]Flow), reverse: make(map[maglev.Tuple]maglev.Tuple), heads: make(map[Datagram]Head)}
	}
	if w.Delete != nil {
		t.remove(*w.Delete)
	}
	if w.Put != nil {
		t.remove(w.Put.Tuple)
		t.flows[w.Put.Tuple] = *w.Put
		if w.Put.State != Lent {
			t.reverse[w.Put.reverse()] = w.Put.Tuple
		}
	}
	if w.Head != nil {
		t.heads[w.Head.Datagram] = *w.Head
	}
	if w.Refuse {
		if second := w.Now.Truncate(time.Second); second != t.tick {
			t.tick, t.refusals = second, 0
		}
		t.refusals++
	}
}

func (t *FlowTable) remove(k maglev.Tuple) {
	if f, ok := t.flows[k]; ok {
		delete(t.flows, k)
		if t.reverse[f.reverse()] == k { // and not of one that came since it was too old
			delete(t.reverse, f.reverse())
		}
	}
}

// Len is how many flows are in the table, old ones included.
func (t *FlowTable) Len() int { return len(t.flows) }

// flow returns the flow of that tuple, from client to VIP, if it is young enough.
func (t *FlowTable) flow(k maglev.Tuple, now time.Duration) (Flow, bool) {
	f, ok := t.flows[k]
	return f, ok && now-f.Seen < f.idle()
}

// answer returns the flow that a packet from an endpoint belongs to.
func (t *FlowTable) answer(k maglev.Tuple, now time.Duration) (Flow, bool) {
	forward, ok := t.reverse[k]
	if !ok {
		return Flow{}, false
	}
	return t.flow(forward, now)
}

func (t *FlowTable) head(d Datagram, now time.Duration) (Head, bool) {
	h, ok := t.heads[d]
	return h, ok && now-h.Seen < FragmentIdle
}

// mayRefuse reports whether another refusal is within the limit.
func (t *FlowTable) mayRefuse(now time.Duration) bool {
	return now.Truncate(time.Second) != t.tick || t.refusals < RefusalsPerSecond
}

// String is the flows in the order of their tuples, one a line.
func (t *FlowTable) String() string {
	lines := make([]string, 0, len(t.flows))
	for _, f := range t.flows {
		lines = append(lines, f.String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (f Flow) String() string {
	if f.State == Lent {
		return fmt.Sprintf("%s %s>%s lent", strings.ToLower(lb.Protocol(f.Tuple.Proto).String()),
			netip.AddrPortFrom(f.Tuple.Src, f.Tuple.SrcPort), netip.AddrPortFrom(f.Tuple.Dst, f.Tuple.DstPort))
	}
	s := fmt.Sprintf("%s %s>%s pod %s endpoint %d %s", strings.ToLower(lb.Protocol(f.Tuple.Proto).String()),
		netip.AddrPortFrom(f.Tuple.Src, f.Tuple.SrcPort), netip.AddrPortFrom(f.Tuple.Dst, f.Tuple.DstPort), f.Pod, f.Endpoint, f.State)
	if f.Answered {
		s += " answered"
	}
	if f.Port != f.Tuple.SrcPort {
		s += fmt.Sprintf(" port %d", f.Port)
	}
	if f.MSS != 0 {
		s += fmt.Sprintf(" mss %d", f.MSS)
	}
	return s
}
