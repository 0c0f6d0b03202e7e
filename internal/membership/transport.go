package membership

import (
	"errors"
	"net/netip"
	"time"
)

// errEmpty is returned by [conn.poll] when nothing is queued.
var errEmpty = errors.New("nothing received")

// gtsm is the TTL or hop limit that heartbeats are sent with, and must have on
// arrival: a router would have lowered it (RFC 5082).
const gtsm = 255

// transport opens what heartbeats go through: UDP sockets, or a test's network.
type transport interface {
	// open returns a conn that hears and reaches l's segment only: the group, or
	// if there are any, the peers instead.
	open(l Link, port uint16, peers []netip.Addr) (conn, error)
}

// conn sends and receives datagrams on one link. One goroutine uses it, and
// anybody may close it: then both return [os.ErrClosed]. Neither ever waits.
type conn interface {
	// send sends to everybody.
	send(b []byte) error
	// poll returns a datagram that is queued, or errEmpty.
	poll(b []byte) (int, arrival, error)
	close()
}

// arrival is what the network says about a datagram.
type arrival struct {
	from netip.Addr
	hops int // TTL or hop limit
	// age is how long ago it came, at least 0. Who doesn't know says 0.
	age time.Duration
}
