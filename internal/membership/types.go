package membership

import (
	"net/netip"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Link is an interface to send and listen on.
type Link struct {
	Name  string
	Index int
	MAC   lb.MAC
	// Addr is the address to send from: the node's own on that interface. Its
	// family decides whether the multicast group is the IPv4 or the IPv6 one.
	Addr netip.Addr
	MTU  int
}

// Peer is a member as heard through one interface.
type Peer struct {
	Node      string
	Instance  uint64 // random, new at every start of the peer's agent
	Interface string // ours, that it was heard on
	MAC       lb.MAC // the peer's, on that segment
	Addr      netip.Addr
	HearsUs   bool // the peer says that it hears this instance of ours
	LastHeard time.Time
}

// Event is one thing learned about a peer. Lost is true for silence beyond the
// dead time (Beat is empty then). What a peer says again is an event only now
// and then, a few times a second; [Heartbeat.Links] knows when it was last heard.
type Event struct {
	Peer Peer
	Lost bool
	Beat election.Beat
	// again is true when the peer has said nothing that it had not said before.
	again bool
}
