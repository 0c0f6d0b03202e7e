package election

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

func addr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
}

// world is a situation that every node knows alike.
type world struct {
	nodes []string
	vips  []VIP
	owner map[netip.Addr]string // none for an orphan
}

func drawWorld(t *rapid.T) world {
	w := world{owner: make(map[netip.Addr]string)}
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		w.nodes = append(w.nodes, fmt.Sprintf("n%d", i))
	}
	refusals := rapid.SampledFrom([]lb.Refusal{lb.NotSelected, lb.NotReady, lb.InterfaceDown})
	restricted := rapid.Bool().Draw(t, "restricted")
	for i := range rapid.IntRange(0, 30).Draw(t, "vips") {
		v := VIP{Addr: addr(i)}
		if restricted {
			v.Refused = rapid.MapOfN(rapid.SampledFrom(w.nodes), refusals, 0, len(w.nodes)).Draw(t, "refused")
		}
		w.vips = append(w.vips, v)
		owner := rapid.SampledFrom(append([]string{""}, w.nodes...)).Draw(t, "owner")
		if owner != "" && v.Refused[owner] == lb.Eligible {
			w.owner[v.Addr] = owner
		}
	}
	return w
}

// run lets a machine learn of the world at once, as the node called self, and
// returns what it then claims. It is told that it owns its own VIPs by having
// claimed them while nobody else was there.
func (w world) run(self string) []netip.Addr {
	m := New(Config{Self: self, BootEpoch: 1}, 0)
	mine := w.claims(self)
	var alone []VIP
	for _, c := range mine {
		alone = append(alone, VIP{Addr: c.Addr})
	}
	m.SetVIPs(0, alone)
	m.Tick(150 * time.Millisecond)
	m.Take()
	// The rest becomes known while it listens.
	m.SetSelf(150*time.Millisecond, lb.Eligible)
	m.listenUntil = 250 * time.Millisecond
	for _, n := range w.nodes {
		if n != self {
			m.Heard(200*time.Millisecond, n, true, Beat{Claims: w.claims(n)})
		}
	}
	m.SetVIPs(200*time.Millisecond, w.vips)
	m.Tick(250 * time.Millisecond)
	var got []netip.Addr
	for _, tr := range m.Take().Transitions {
		if tr.Change == Claimed {
			got = append(got, tr.Addr)
		}
	}
	return got
}

func (w world) claims(node string) []Claim {
	var cs []Claim
	for _, v := range w.vips {
		if w.owner[v.Addr] == node {
			cs = append(cs, Claim{v.Addr, 1})
		}
	}
	return cs
}

// twin deals out the orphans in the dumbest way: each one, by address, to the
// head of the sorted candidates.
func (w world) twin() map[netip.Addr]string {
	load := make(map[string]int)
	for _, n := range w.owner {
		load[n]++
	}
	dealt := make(map[netip.Addr]string)
	for _, v := range w.vips {
		if w.owner[v.Addr] != "" {
			continue
		}
		key := func(n string) string {
			r := v.Refused[n]
			return fmt.Sprintf("%t %05d %020d %s", r != lb.Eligible, load[n], ^rank(nameSeed(n), v.Addr), n)
		}
		var candidates []string
		for _, n := range w.nodes {
			if r := v.Refused[n]; r == lb.Eligible || r.Soft() {
				candidates = append(candidates, n)
			}
		}
		if len(candidates) == 0 {
			continue
		}
		best := slices.MinFunc(candidates, func(a, b string) int { return strings.Compare(key(a), key(b)) })
		dealt[v.Addr] = best
		load[best]++
	}
	return dealt
}

// TestPlacement: nodes with the same view deal out the orphans among them
// without a gap or an overlap, as the twin does, and the loads end up even.
func TestPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		got := make(map[netip.Addr]string)
		for _, n := range w.nodes {
			for _, a := range w.run(n) {
				if got[a] != "" {
					t.Fatalf("%s is claimed by %s and %s", a, got[a], n)
				}
				got[a] = n
			}
		}
		if diff := cmp.Diff(w.twin(), got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Fatalf("-twin +machines:\n%s", diff)
		}
		// The most loaded one has no more than it had or than its share.
		had, has := make(map[string]int), make(map[string]int)
		for _, n := range w.owner {
			had[n]++
			has[n]++
		}
		for _, n := range got {
			has[n]++
		}
		if slices.ContainsFunc(w.vips, func(v VIP) bool { return len(v.Refused) > 0 }) {
			return
		}
		share := (len(w.vips) + len(w.nodes) - 1) / len(w.nodes)
		for _, n := range w.nodes {
			if has[n] > max(had[n], share) {
				t.Fatalf("%s has %d, had %d, share %d", n, has[n], had[n], share)
			}
		}
	})
}

// TestPlan: a plan leaves nothing to improve, and moves no more than needed.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		m := New(Config{Self: w.nodes[0]}, 0)
		for _, n := range w.nodes {
			p := m.member(n)
			p.alive, p.hearsMe = true, true
		}
		free := true
		total := 0
		for _, v := range w.vips {
			if o := w.owner[v.Addr]; o != "" {
				p := m.member(o)
				p.planned++
				total++
				free = free && len(v.Refused) == 0
				m.vips = append(m.vips, &vip{addr: v.Addr, refused: v.Refused, owner: p})
			}
		}
		needed := 0 // down to the larger or the smaller share
		loads := make([]int, 0, len(m.members))
		for _, n := range m.members {
			loads = append(loads, n.planned)
		}
		slices.SortFunc(loads, func(a, b int) int { return b - a })
		for i, l := range loads {
			share := total / len(loads)
			if i < total%len(loads) {
				share++
			}
			needed += max(0, l-share)
		}

		moves := plan(m.members, m.vips, total+1)
		if free && len(moves) != needed {
			t.Fatalf("%d moves, %d are needed", len(moves), needed)
		}
		for _, mv := range moves {
			if mv.v.owner != mv.from || tierOf(mv.to, mv.v) != eligible {
				t.Fatalf("%s may not go from %s to %s", mv.v.addr, mv.from.name, mv.to.name)
			}
			mv.v.owner = mv.to
			mv.from.planned--
			mv.to.planned++
		}
		for _, v := range m.vips {
			for _, to := range m.members {
				if v.owner.planned-to.planned > 1 && tierOf(to, v) == eligible {
					t.Fatalf("%s should still go from %s to %s", v.addr, v.owner.name, to.name)
				}
			}
		}
	})
}

// TestRankIsEven: no node is preferred over many addresses.
func TestRankIsEven(t *testing.T) {
	wins := make([]int, 5)
	for i := range 10_000 {
		best := 0
		for n := range wins {
			if rank(nameSeed(fmt.Sprintf("node-%d", n)), addr(i)) > rank(nameSeed(fmt.Sprintf("node-%d", best)), addr(i)) {
				best = n
			}
		}
		wins[best]++
	}
	for n, w := range wins {
		if w < 1800 || w > 2200 {
			t.Errorf("node-%d is first for %d of 10000 addresses, want 2000 ± 200", n, w)
		}
	}
}
