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

// conn sends and receives datagrams on one link. One goroutine may send while
// another receives and polls, and anybody may close.
type conn interface {
	// send sends to everybody, without ever waiting.
	send(b []byte) error
	// receive waits for a datagram until the deadline ([os.ErrDeadlineExceeded]),
	// for ever when that is zero, or until the conn is closed ([os.ErrClosed]).
	// After the deadline it may give up although something is queued.
	receive(b []byte, deadline time.Time) (int, arrival, error)
	// poll returns a datagram that is queued already, or errEmpty.
	poll(b []byte) (int, arrival, error)
	close()
}

// arrival is what the network says about a datagram.
type arrival struct {
	from netip.Addr
	hops int // TTL or hop limit
}
