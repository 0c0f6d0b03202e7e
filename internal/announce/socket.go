package announce

import (
	"io"
	"net/netip"
)

// Sockets is what the announcer needs of the system. [NewSockets] returns the
// real one, [NewFakeSockets] one in memory.
type Sockets interface {
	// Open returns a socket for the frames of a family on a link. It receives
	// nothing until its filter wants something.
	Open(link Link, family Family) (Socket, error)
	// Groups returns the IPv6 multicast memberships on a link, none at first.
	Groups(link Link) (Groups, error)
}

// Socket receives and sends Ethernet frames of one family on one link. Read
// blocks until there is a frame that the filter lets through, or Close. Write
// never blocks.
type Socket interface {
	io.ReadWriteCloser
	Filter
	// Check says why frames of the family make no sense on the link any more,
	// which neither reading nor writing tells.
	Check() error
}

// Filter keeps frames that don't concern us from waking anybody.
type Filter interface {
	// Want says which frames about an address to let through.
	Want(addr netip.Addr, what Interest) error
	// Dropped counts the frames that were not let through since Open.
	Dropped() (Counts, error)
}

// Counts is a number of frames by reason.
type Counts [IgnoredReasons]uint64

// Interest is which frames about an address are let through, or-ed together.
type Interest uint8

const (
	// Questions are requests and solicitations for the address.
	Questions Interest = 1 << iota
	// Claims are messages of who has the address or is about to take it.
	Claims
)

func (s State) interest() Interest {
	if s == Announcing || s == Contested {
		return Questions | Claims
	}
	return Claims
}

// Groups is a set of multicast memberships on one link. A group that is also a
// node's own stays with the node when it is left here.
type Groups interface {
	// Set makes groups (sorted) the ones that are joined.
	Set(groups []netip.Addr) error
	io.Closer
}
