package membership

import "log/slog"

// Drop is why a datagram that arrived is not taken for a heartbeat, or why an
// event never reached the consumer.
type Drop uint8

const (
	// NotDropped: it was taken.
	NotDropped Drop = iota
	// Malformed: no heartbeat of ours, or one whose parts contradict each other.
	Malformed
	// Version: a heartbeat of a wire format that this binary doesn't speak.
	Version
	// HopLimit: it crossed a router, or somebody made it up beyond one (RFC 5082).
	HopLimit
	// ForeignKey: authenticated with a key that we don't have: another cluster.
	ForeignKey
	// Unauthenticated: one side has a key and the other has none.
	Unauthenticated
	// BadMAC: authenticated with the right key's name and the wrong code: forged
	// or damaged.
	BadMAC
	// Replayed: heard before, or of an instance older than the one that is heard.
	Replayed
	// Own: sent by this very process and come back.
	Own
	// DuplicateNode: another living instance bears the name of a node that is
	// heard already, or our own.
	DuplicateNode
	// Restarting: a newer instance of a node whose former one was heard a moment
	// ago; it is taken as soon as the former misses a beat.
	Restarting
	// TooManyNodes: more names than a segment can have.
	TooManyNodes
	// QueueFull: it was taken, but before the consumer read it, a newer one of
	// the same peer replaced it.
	QueueFull
	numDrops
)

// Drops is how many values there are.
const Drops = int(numDrops)

var dropNames = [numDrops]string{
	NotDropped:      "not_dropped",
	Malformed:       "malformed",
	Version:         "version",
	HopLimit:        "hop_limit",
	ForeignKey:      "foreign_key",
	Unauthenticated: "unauthenticated",
	BadMAC:          "bad_mac",
	Replayed:        "replayed",
	Own:             "own",
	DuplicateNode:   "duplicate_node",
	Restarting:      "restarting",
	TooManyNodes:    "too_many_nodes",
	QueueFull:       "queue_full",
}

func (d Drop) String() string { return dropNames[d] }

// level is how loudly to speak of it.
func (d Drop) level() slog.Level {
	switch d {
	case DuplicateNode, TooManyNodes:
		return slog.LevelError
	case Own, Restarting:
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// meaning is a line for people.
func (d Drop) meaning() string {
	switch d {
	case Version:
		return "the sender speaks another version of the heartbeat format"
	case HopLimit:
		return "heartbeats must not cross a router"
	case ForeignKey:
		return "another cluster is on this segment, or a node has the wrong key"
	case Unauthenticated:
		return "one of the two has a key and the other has none"
	case BadMAC:
		return "the authentication code is wrong: forged or damaged"
	case Replayed:
		return "a copy of an earlier heartbeat"
	case DuplicateNode:
		return "two running agents have the same node name; give each its own"
	case TooManyNodes:
		return "more node names than a segment can have"
	case QueueFull:
		return "the agent reads too slowly; older heartbeats are skipped"
	}
	return "not a heartbeat that can be used"
}
