package membership

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Defaults of a Config.
const (
	DefaultInterval  = 50 * time.Millisecond
	DefaultDeadAfter = 3
	DefaultPort      = 7481
)

// minInterval bounds what a segment is asked to carry.
const minInterval = 5 * time.Millisecond

// hungAfter is how many intervals heartbeats go on after the last Publish or
// Confirm.
const hungAfter = 20

// Config says how a node takes part in the membership.
type Config struct {
	// Node is this node's name: printable ASCII without blanks, 253 bytes at
	// most, its own in the cluster.
	Node string
	// Key authenticates heartbeats. All nodes of a cluster share it, and other
	// clusters on the segment have another one. Nil means unauthenticated:
	// whoever is on the segment can join.
	Key []byte
	// PreviousKeys are accepted but not used to send: to change the key, first
	// let all nodes accept the new one, then send with it.
	PreviousKeys [][]byte
	// Interval is how often to send (0: 50 ms).
	Interval time.Duration
	// DeadAfter is how many missed heartbeats make a peer dead (0: 3).
	DeadAfter int
	// Peers are sent to one by one instead of the multicast group, on networks
	// that drop multicast. Own addresses may be among them.
	Peers []netip.Addr
	// Port is the UDP port of all nodes (0: 7481).
	Port uint16
}

// withDefaults returns c complete, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.DeadAfter == 0 {
		c.DeadAfter = DefaultDeadAfter
	}
	if c.Port == 0 {
		c.Port = DefaultPort
	}
	switch {
	case !validName(c.Node):
		return c, fmt.Errorf("node name %q: want 1 to %d printable ASCII characters without blanks", c.Node, maxName)
	case c.Key != nil && len(c.Key) == 0:
		return c, errors.New("heartbeat key is empty")
	case c.Key == nil && len(c.PreviousKeys) > 0:
		return c, errors.New("previous heartbeat keys without a current one")
	case slices.ContainsFunc(c.PreviousKeys, func(k []byte) bool { return len(k) == 0 }):
		return c, errors.New("a previous heartbeat key is empty")
	case c.Interval < minInterval:
		return c, fmt.Errorf("heartbeat interval %v: want %v at least", c.Interval, minInterval)
	case c.DeadAfter < 2:
		return c, fmt.Errorf("dead after %d missed heartbeats: want 2 at least", c.DeadAfter)
	}
	c.Peers = slices.Clone(c.Peers)
	for n, p := range c.Peers {
		p = p.Unmap().WithZone("")
		if !p.IsValid() || p.IsUnspecified() || p.IsMulticast() || p.IsLoopback() {
			return c, fmt.Errorf("heartbeat peer %s: not an address of another node", p)
		}
		c.Peers[n] = p
	}
	return c, nil
}

// keys returns the keys to accept.
func (c Config) keys() [][]byte {
	if c.Key == nil {
		return nil
	}
	return append([][]byte{c.Key}, c.PreviousKeys...)
}
