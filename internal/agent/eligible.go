package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// NotReadyGrace is how long a node may be NotReady by its Node object before
// it stops being a candidate. Heartbeats are the authority on who is alive;
// the API's word only follows.
const NotReadyGrace = 10 * time.Second

// segmentFacts is what eligibility on one segment depends on besides the
// snapshot.
type segmentFacts struct {
	Interface string
	Automatic bool // chosen without an Announcement naming it
	Self      string
	Peers     []string // names of the members heard on the segment
	// NotReady are the nodes that have been NotReady for longer than the grace.
	NotReady map[string]bool
	// Trouble is true for the families that can't be announced here.
	Trouble [announce.Families]bool
}

// eligible returns the VIPs that may be announced on a segment, each with the
// nodes that the snapshot refuses there. It is pure. VIPs that no rule lets
// this node's interface announce are left out: they are not this segment's.
func eligible(snap *lb.Snapshot, vips []lb.VIP, f segmentFacts) []election.VIP {
	nodes := nodesOf(snap, f)
	shared := make(map[string]map[string]lb.Refusal) // refusals of VIPs alike
	out := make([]election.VIP, 0, len(vips))
	for _, v := range vips {
		if !onSegment(v, f) {
			continue
		}
		key := policyKey(v)
		refused, ok := shared[key]
		if !ok {
			refused = make(map[string]lb.Refusal)
			for _, n := range nodes {
				r := refusal(v, n, f)
				if r == lb.Eligible && unknown(snap, n.Name) {
					r = lb.UnknownNode
				}
				if r != lb.Eligible {
					refused[n.Name] = r
				}
			}
			shared[key] = refused
		}
		out = append(out, election.VIP{Addr: v.Addr, Refused: refused})
	}
	return out
}

// onSegment reports whether any rule of v uses the segment's interface for
// any node at all.
func onSegment(v lb.VIP, f segmentFacts) bool {
	return slices.ContainsFunc(v.Rules, f.uses)
}

// uses reports whether the rule r announces through the segment's interface.
func (f segmentFacts) uses(r lb.Announcement) bool {
	return len(r.Interfaces) == 0 && f.Automatic || r.MatchesInterface(f.Interface)
}

// schedules returns the gratuitous schedules of the VIPs that have one: that of
// the first Announcement which covers the VIP on the segment and sets any.
func schedules(vips []lb.VIP, f segmentFacts) map[netip.Addr]lb.Gratuitous {
	out := make(map[netip.Addr]lb.Gratuitous)
	for _, v := range vips {
		for _, r := range v.Rules {
			if f.uses(r) && r.Gratuitous != (lb.Gratuitous{}) {
				out[v.Addr] = r.Gratuitous
				break
			}
		}
	}
	return out
}

// nodesOf is every node that could be a candidate: those of the snapshot, this
// one, and members that the snapshot doesn't know (yet), without labels.
func nodesOf(snap *lb.Snapshot, f segmentFacts) []lb.Node {
	nodes := slices.Clone(snap.Nodes)
	for _, name := range append([]string{f.Self}, f.Peers...) {
		if _, known := snap.Node(name); !known {
			nodes = append(nodes, lb.Node{Name: name})
		}
	}
	return nodes
}

// unknown reports whether the manifests list nodes and this is none of them: a
// machine that was forgotten, or another cluster's. What is missing altogether
// is taken for a set-up without Node objects.
func unknown(snap *lb.Snapshot, node string) bool {
	_, known := snap.Node(node)
	return !known && len(snap.Nodes) > 0
}

// refusal is why n is no candidate for v, hard reasons first. Interface names
// are only ours to judge: a peer was heard on this very segment, so its side
// of it, whatever its name, is its own business.
func refusal(v lb.VIP, n lb.Node, f segmentFacts) lb.Refusal {
	selected := false
	for _, r := range v.Rules {
		if n.Name != f.Self {
			selected = selected || r.NodeSelector.Matches(n.Labels)
			continue
		}
		selected = selected || r.Permits(n.Labels, f.Interface, f.Automatic)
	}
	switch {
	case len(v.Rules) == 0:
		return lb.NoRule
	case !selected:
		return lb.NotSelected
	case n.Excluded:
		return lb.ExcludedByLabel
	case n.Draining:
		return lb.Draining
	case f.NotReady[n.Name]:
		return lb.NotReady
	case n.Name == f.Self && f.Trouble[announce.FamilyOf(v.Addr)]:
		return lb.DataplaneNotReady
	case v.Local && !slices.Contains(v.LocalNodes, n.Name):
		return lb.NoLocalEndpoint
	}
	return lb.Eligible
}

// policyKey is equal for VIPs whose refusals are equal, so that thousands of
// VIPs share one map.
func policyKey(v lb.VIP) string {
	var b strings.Builder
	b.WriteString(announce.FamilyOf(v.Addr).String())
	for _, r := range v.Rules {
		b.WriteString(r.Name)
		b.WriteByte(0)
	}
	if v.Local {
		b.WriteByte(1)
		b.WriteString(strings.Join(v.LocalNodes, "\x00"))
	}
	return b.String()
}

// unsupported are the services that ask for a forwarding which this agent does
// not have. They are served by the one that it has.
func unsupported(snap *lb.Snapshot, has lb.Forwarding) (problems []lb.Problem) {
	for _, s := range snap.Services {
		if s.Forwarding != lb.ForwardingDefault && s.Forwarding != has {
			problems = append(problems, lb.Problem{
				Kind: lb.ForwardingInvalid, Object: "Service " + s.Name.String(), Field: "metadata.annotations[fairlead.dev/forwarding]",
				Message: fmt.Sprintf("%s is not available on this node: %s is used", s.Forwarding, has), Warning: true,
			})
		}
	}
	return problems
}

// unusable returns the VIPs of vips that this node's own addresses and subnets
// rule out, as problems: an address that a host here has would be swallowed, a
// directed broadcast answered by everybody.
func unusable(vips []lb.VIP, check func(netip.Addr) (lb.ProblemKind, string)) (ok []lb.VIP, problems []lb.Problem) {
	for _, v := range vips {
		kind, msg := check(v.Addr)
		if kind == lb.ProblemNone {
			ok = append(ok, v)
			continue
		}
		for _, s := range v.Services {
			problems = append(problems, lb.Problem{
				Kind: kind, Object: "Service " + s.String(), Field: "address " + v.Addr.String(), Addr: v.Addr, Message: msg,
			})
		}
	}
	return ok, problems
}
