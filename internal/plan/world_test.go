package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// world is a cluster of nodes, each with its own state and flow table, and the
// network between them.
type world struct {
	nodes []*member
	now   time.Duration
	log   *strings.Builder // what happens to packets, if not nil
}

type member struct {
	name  string
	state *State
	flows FlowTable
}

// visit is a verdict and where it was passed.
type visit struct {
	node    *member
	verdict Verdict
}

func (w *world) node(name string) *member {
	for _, m := range w.nodes {
		if m.name == name {
			return m
		}
	}
	return nil
}

// send gives a packet to a node and follows it from node to node, also by way
// of the router. The network drops what has gone further than any packet may.
func (w *world) send(m *member, p Packet) []visit {
	var visits []visit
	for m != nil && len(visits) < 3*MaxHops {
		v := Walk(m.state, &m.flows, p, w.now)
		m.flows.Apply(v.Writes)
		visits = append(visits, visit{m, v})
		w.trace(m, v)
		if v.Reason.Action() != Forward {
			break
		}
		p = v.Packet
		m = w.node(m.state.node(v.Node).Name)
		if p.EthDst == mac("rt") {
			p.EthSrc, p.EthDst = p.EthDst, m.state.MACs[0]
		}
	}
	return visits
}

func (w *world) trace(m *member, v Verdict) {
	if w.log == nil {
		return
	}
	fmt.Fprintf(w.log, "  %s %s %s", m.name, v.Reason.Action(), v.Reason)
	switch v.Reason.Action() {
	case Forward, Deliver, Answer, Send:
		fmt.Fprintf(w.log, ": %s", named.Replace(v.Packet.String()))
	}
	w.log.WriteByte('\n')
}

// last is where a packet ended.
func last(visits []visit) visit { return visits[len(visits)-1] }

// deliveries counts the nodes that the deliver program looked at the packet on.
func deliveries(visits []visit) int {
	n := 0
	for _, v := range visits {
		if v.verdict.Reason != Directed {
			n++
		}
	}
	return n
}

// The stations of tests: the MAC of node nI ends in 1I, that of the router in
// fe, of the client in 64.
func mac(name string) lb.MAC {
	switch name {
	case "cl":
		return lb.MAC{2, 0, 0, 0, 1, 0}
	case "rt":
		return lb.MAC{2, 0, 0, 0, 0, 0xfe}
	case "*":
		return lb.Broadcast
	}
	var i byte
	if n, err := fmt.Sscanf(name, "n%d", &i); n != 1 || err != nil {
		return lb.MAC{}
	}
	return lb.MAC{2, 0, 0, 0, 0, 0x10 + i}
}

// named prints MACs by the names of their stations.
var named = func() *strings.Replacer {
	words := []string{lb.MAC{}.String(), "-"}
	for _, name := range []string{"cl", "rt", "*", "n1", "n2", "n3", "n4", "n5", "n6"} {
		words = append(words, mac(name).String(), name)
	}
	return strings.NewReplacer(words...)
}()

// TestNames: every reason has a name of its own that can be a metric label.
func TestNames(t *testing.T) {
	names := func(n int, name func(int) string) {
		seen := make(map[string]bool)
		for i := range n {
			s := name(i)
			if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" || seen[s] {
				t.Errorf("the name of %d is %q", i, s)
			}
			seen[s] = true
		}
	}
	names(Reasons, func(i int) string { return Reason(i).String() })
	names(ProblemKinds, func(i int) string { return ProblemKind(i).String() })
	names(int(numModes), func(i int) string { return Mode(i).String() })
	names(len(actionNames), func(i int) string { return Action(i).String() })
}
