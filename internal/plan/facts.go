package plan

import (
	"net/netip"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Facts is what a node knows besides the snapshot.
type Facts struct {
	Self  string       // its own name
	Addrs []netip.Addr // its own addresses, to encapsulate from and to
	// MACs are those of its uplinks; the first one is what frames are sent from.
	MACs []lb.MAC
	// Routers are the MACs that packets from other segments come from. They
	// matter to dscp alone, where nothing but the frame's source tells a
	// directed packet from others.
	Routers []lb.MAC
	// Seed of the tables and hashes, the same on all nodes.
	Seed uint64
	// Now is the time on the clock that the programs read, CLOCK_MONOTONIC.
	Now time.Duration
	// Forwarding is for services that don't say, and is not the default itself.
	Forwarding lb.Forwarding
	VIPs       []Served
	Peers      []Peer // in any order; the node itself may be among them
}

// Served is a VIP to plan for.
type Served struct {
	Addr netip.Addr
	// Owner is the node that announces it, as far as known; "" is this one. With
	// externalTrafficPolicy: Local new flows go to endpoints there.
	Owner string
}

// Peer is how to reach another node.
type Peer struct {
	Name string
	// MAC is the peer's own on the same segment, else that of the next hop.
	MAC         lb.MAC
	Addrs       []netip.Addr // its addresses; the first one is the outer destination
	SameSegment bool
	Mode        Mode
	MTU         int // of the path to it, in bytes; 0 is 1500
}

// defaultMTU is that of a path about which nothing is known.
const defaultMTU = 1500
