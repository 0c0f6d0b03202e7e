package electiontest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Simulate runs the commands drawn from a seed until a promise is broken. It
// returns the script so far and what was broken, "" if nothing was. The script
// is all there is: running it again does exactly the same.
func Simulate(seed uint64, bug string) (script, broken string) {
	e := New()
	e.verbose = false
	var done strings.Builder
	for _, line := range Generate(seed, bug) {
		fmt.Fprintln(&done, line)
		e.Run(line)
		if e.Broken() != "" {
			break
		}
	}
	return done.String(), e.Broken()
}

// generator draws the commands of one simulation.
type generator struct {
	rng   *rand.Rand
	nodes []string
	vips  []string
	out   []string

	down   map[string]bool
	paused map[string]bool
	self   map[string]bool
}

// Generate returns the commands of a simulation: faults for a while, then a
// healed world that must settle, be quiet, and move no more than it has to
// when a single node fails.
func Generate(seed uint64, bug string) []string {
	g := &generator{
		rng:    rand.New(rand.NewPCG(seed, 1)),
		down:   make(map[string]bool),
		paused: make(map[string]bool),
		self:   make(map[string]bool),
	}
	g.say("seed %d", seed)
	g.say("rebalance 1s")
	if bug != "" {
		g.say("bug %s", bug)
	}
	if g.rng.IntN(4) == 0 {
		g.say("split %d", 1+g.rng.IntN(4))
	}
	for i := range 2 + g.rng.IntN(6) {
		g.nodes = append(g.nodes, fmt.Sprintf("n%d", i+1))
	}
	for i := range 1 + g.rng.IntN(12) {
		g.vips = append(g.vips, fmt.Sprintf("192.0.2.%d", i+1))
	}
	if g.rng.IntN(2) == 0 {
		g.say("add-nodes %s", strings.Join(g.nodes, " "))
	} else {
		for _, n := range g.nodes {
			g.say("add-nodes %s", n)
			g.pass(200)
		}
	}
	g.say("add-vips %s", strings.Join(g.vips, " "))
	g.pass(1000)
	for range 2 + g.rng.IntN(10) {
		g.fault()
		g.pass(2000)
	}
	g.heal()
	g.singleFailure()
	return g.out
}

func (g *generator) say(format string, args ...any) {
	g.out = append(g.out, fmt.Sprintf(format, args...))
}

// pass lets up to most milliseconds pass.
func (g *generator) pass(most int) { g.say("advance %dms", 1+g.rng.IntN(most)) }

func (g *generator) pick(from []string) string { return from[g.rng.IntN(len(from))] }

// link names one direction, or both, between nodes, or all links of a node.
func (g *generator) link() string {
	a := g.pick(g.nodes)
	b := g.pick(g.nodes)
	if a == b || g.rng.IntN(4) == 0 {
		b = "*"
	}
	if g.rng.IntN(2) == 0 {
		return a + ">" + b
	}
	return a + "=" + b
}

// partition cuts the nodes into two parts.
func (g *generator) partition() {
	cut := []string{"cut"}
	at := 1 + g.rng.IntN(len(g.nodes)-1)
	order := g.rng.Perm(len(g.nodes))
	for _, i := range order[:at] {
		for _, j := range order[at:] {
			cut = append(cut, g.nodes[i]+"="+g.nodes[j])
		}
	}
	g.say("%s", strings.Join(cut, " "))
}

// fault draws one thing to go wrong, or to be mended.
func (g *generator) fault() {
	n, v := g.pick(g.nodes), g.pick(g.vips)
	switch g.rng.IntN(16) {
	case 0, 1:
		if g.down[n] {
			g.say("restart %s clock=%dh", n, g.rng.IntN(3)-1)
		} else {
			g.say("crash %s", n)
		}
		g.down[n] = !g.down[n]
		g.paused[n] = false
	case 2, 3:
		switch {
		case g.down[n]:
		case g.paused[n]:
			g.say("resume %s", n)
			g.paused[n] = false
		default:
			g.say("pause %s", n)
			g.paused[n] = true
		}
	case 4:
		g.partition()
	case 5, 6:
		g.say("cut %s", g.link())
	case 7, 8:
		g.say("heal *>*")
	case 9:
		g.say("loss %.2f %s", g.rng.Float64()*0.3, g.link())
	case 10:
		g.say("delay %dms %dms %s", g.rng.IntN(30), g.rng.IntN(60), g.link())
		g.say("dup %.2f %s", g.rng.Float64()*0.3, g.link())
	case 11:
		g.say("drop %d %s", 1+g.rng.IntN(6), g.link())
	case 12:
		reasons := []string{"draining", "interface_down", "dataplane_not_ready"}
		if g.self[n] {
			g.say("self eligible %s", n)
		} else {
			g.say("self %s %s", g.pick(reasons), n)
		}
		g.self[n] = !g.self[n]
	case 13:
		reasons := []string{"not_selected", "node_not_ready", "excluded_by_label", "no_local_endpoint", "eligible"}
		g.say("refuse %s %s %s on=%s", g.pick(reasons), n, v, g.pick(g.nodes))
	case 14:
		g.say("%s %s %s", g.pick([]string{"lack", "have"}), n, v)
	case 15:
		g.say("remove-vips %s", v)
		g.pass(500)
		g.say("add-vips %s", v)
	}
}

// heal mends everything, and requires that the world settles.
func (g *generator) heal() {
	g.say("heal *>*")
	all := strings.Join(g.vips, " ")
	for _, n := range g.nodes {
		if g.paused[n] {
			g.say("resume %s", n)
		}
		if g.down[n] {
			g.say("restart %s clock=-1h", n)
		}
		g.say("self eligible %s", n)
		g.say("have %s %s", n, all)
		g.say("refuse eligible %s %s", n, all)
	}
	g.say("advance 3s")
	g.say("settled")
	g.say("advance 13s") // rebalancing, of nodes that are shunned too
	g.say("settled")
	g.say("balanced")
	g.say("quiet 1s")
}

// singleFailure has one node of a settled world fail.
func (g *generator) singleFailure() {
	n := g.pick(g.nodes)
	g.say("mark")
	g.say("%s %s", g.pick([]string{"crash", "pause"}), n)
	g.say("advance 1500ms")
	g.say("moves %s", n)
	g.say("silence 160ms")
	g.say("settled")
	g.say("balanced")
	g.say("quiet 500ms")
}
