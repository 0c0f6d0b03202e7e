package announce

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Desired is everything to announce.
type Desired struct {
	Links []Link // sorted by name
}

// String prints one line for each link and, indented, for each entry.
func (d Desired) String() string {
	var b strings.Builder
	for _, l := range d.Links {
		state := "down"
		if l.Up {
			state = "up"
		}
		fmt.Fprintf(&b, "%s index %d mac %s %s members %d\n", l.Name, l.Index, l.MAC, state, len(l.Members))
		for _, e := range l.Entries {
			fmt.Fprintf(&b, "  %s generation %d", e.Addr, e.Generation)
			if e.Probe {
				b.WriteString(" probe")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Link is what to announce through one interface.
type Link struct {
	Name  string
	Index int
	MAC   lb.MAC
	Up    bool // usable: administratively up and with carrier
	// Members are the MACs of this cluster's nodes on this segment, ours
	// included, sorted: a claim from one of them is no stranger's.
	Members []lb.MAC
	Entries []Entry // sorted by address
	// Hold keeps the sockets of a family open while nothing of it is announced:
	// so it is known beforehand whether something could be. See [Announcer.Trouble].
	Hold [numFamilies]bool
}

// Entry is one VIP owned on a link.
type Entry struct {
	Addr netip.Addr
	// Generation is changed by the caller to have the gratuitous schedule
	// started anew.
	Generation uint64
	// Probe asks for a duplicate-address probe before the first answer.
	Probe bool
	// Schedule is when to announce without being asked; a zero field is 5 times,
	// 1.1 s apart, and then every [Options.Refresh].
	Schedule lb.Gratuitous
}

// State is what the announcer does for an entry.
type State uint8

const (
	// Probing: asking whether a stranger holds the address; not answering yet.
	Probing State = iota
	// Announcing: answering and advertising.
	Announcing
	// Conflict: a stranger answered the probe; not answering, probing again.
	Conflict
	// Contested: answering, and a stranger claims the address too.
	Contested
	// Waiting: the link is down or its socket can't be opened (yet).
	Waiting
)

func (s State) String() string {
	switch s {
	case Probing:
		return "probing"
	case Announcing:
		return "announcing"
	case Conflict:
		return "conflict"
	case Contested:
		return "contested"
	case Waiting:
		return "waiting"
	}
	return "unknown"
}

// Status is the state of one entry on one link.
type Status struct {
	Interface string
	Addr      netip.Addr
	State     State
	Stranger  lb.MAC // who else claims it, in Conflict and Contested
	Err       string // why it waits, one line
}
