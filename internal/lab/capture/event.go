package capture

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Event is one frame in which a host said that an address is at it.
type Event struct {
	At   time.Time // when the kernel had it
	Port string    // the switch port that it came in on
	Addr netip.Addr
}

// Duplicate is how long, and how often, an address was answered for by two
// ports at once.
type Duplicate struct {
	Addr  netip.Addr
	Time  time.Duration
	Ports []string // those involved, sorted
}

func (d Duplicate) String() string {
	return fmt.Sprintf("%s answered by %v at once for %s", d.Addr, d.Ports, d.Time)
}

// moment is for how long a single answer stands: one within another port's
// tenure counts as this much.
const moment = time.Millisecond

// tenure is a time through which a port answered for an address: from one
// answer to another without a long pause.
type tenure struct {
	port     string
	from, to time.Time
}

// Duplicates computes who answered for an address at the same time as another
// port. Answers of one port that are no more than window apart prove that it
// answered all the time between them. The result is sorted by address.
func Duplicates(events []Event, window time.Duration) []Duplicate {
	byAddr := make(map[netip.Addr][]Event)
	for _, e := range events {
		byAddr[e.Addr] = append(byAddr[e.Addr], e)
	}
	var dups []Duplicate
	for addr, es := range byAddr {
		if d := duplicate(tenures(es, window)); d.Time > 0 {
			d.Addr = addr
			dups = append(dups, d)
		}
	}
	slices.SortFunc(dups, func(a, b Duplicate) int { return a.Addr.Compare(b.Addr) })
	return dups
}

// tenures chains the answers of each port, in order of their beginning.
func tenures(events []Event, window time.Duration) []tenure {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	var ts []tenure
	last := make(map[string]int) // index in ts by port
	for _, e := range events {
		if i, ok := last[e.Port]; ok && e.At.Sub(ts[i].to) <= window {
			ts[i].to = e.At
			continue
		}
		last[e.Port] = len(ts)
		ts = append(ts, tenure{e.Port, e.At, e.At})
	}
	return ts
}

// duplicate measures the time that at least two tenures cover.
func duplicate(ts []tenure) Duplicate {
	type edge struct {
		at    time.Time
		port  string
		begin bool
	}
	var edges []edge
	for _, t := range ts {
		edges = append(edges, edge{t.from, t.port, true}, edge{t.to.Add(moment), t.port, false})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	var d Duplicate
	active := make(map[string]bool)
	for i, e := range edges {
		if len(active) > 1 {
			d.Time += e.at.Sub(edges[i-1].at)
			d.Ports = slices.AppendSeq(d.Ports, maps.Keys(active))
		}
		if e.begin {
			active[e.port] = true
		} else {
			delete(active, e.port)
		}
	}
	slices.Sort(d.Ports)
	d.Ports = slices.Compact(d.Ports)
	return d
}

// Moves returns how often the port that answers for each address changed.
// Addresses that never moved are left out.
func Moves(events []Event) map[netip.Addr]int {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	last := make(map[netip.Addr]string)
	moves := make(map[netip.Addr]int)
	for _, e := range events {
		if port, ok := last[e.Addr]; ok && port != e.Port {
			moves[e.Addr]++
		}
		last[e.Addr] = e.Port
	}
	return moves
}

// Owners returns who answered last for each address, of the events that came
// in from then on.
func Owners(events []Event, from time.Time) map[netip.Addr]string {
	owners := make(map[netip.Addr]Event)
	for _, e := range events {
		if e.At.Before(from) {
			continue
		}
		if o, ok := owners[e.Addr]; !ok || o.At.Before(e.At) {
			owners[e.Addr] = e
		}
	}
	ports := make(map[netip.Addr]string, len(owners))
	for a, e := range owners {
		ports[a] = e.Port
	}
	return ports
}
