package electiontest

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// checker watches over the promises of the protocol while an Env runs:
//
//   - Silence: while a node that may own a VIP runs, nobody answers for it for
//     at most silenceBound after the world was last changed by a command.
//   - Duplicates: two nodes that hear each other do not both answer for longer
//     than one heartbeat exchange; if only one hears the other, for no longer
//     than that one takes to notice.
//   - Epochs: a new claim is above everything that its node heard before, and
//     an owner's epoch never falls in anybody's view.
type checker struct {
	env       *Env
	broken    string        // the first violation
	disturbed time.Duration // when a command last changed the world
	answering map[netip.Addr]*answerers

	transitions, urgent, versions int // for quiet

	mark  map[netip.Addr]string // owners
	worst time.Duration         // longest silence of any VIP since the mark
}

// answerers is who answers for a VIP.
type answerers struct {
	nodes  uint64 // bit per node index
	silent time.Duration
	both   map[[2]int]time.Duration // since when two of them do
}

// memory is what a node was told and said in its present life.
type memory struct {
	heard map[netip.Addr]uint64
	own   map[netip.Addr]uint64
	shown map[netip.Addr]election.Ownership
	lives map[int]life // of the others, as last heard
}

// life is a life of another node, and when it was first heard in it.
type life struct {
	number int
	since  time.Duration
}

func newChecker(e *Env) *checker {
	return &checker{env: e, answering: make(map[netip.Addr]*answerers)}
}

func (c *checker) fail(format string, args ...any) {
	if c.broken == "" {
		c.broken = stamp(c.env.now) + " " + fmt.Sprintf(format, args...)
		fmt.Fprintf(&c.env.log, "VIOLATION %s\n", c.broken)
	}
}

// silenceBound is how long nobody may answer: the dead time and the staggering
// of all candidates (a pause costs one more dead time of listening), a beat
// lost to the phase of the senders, and the slowest link.
func (c *checker) silenceBound() time.Duration {
	return time.Duration(len(c.env.nodes)+3)*DeadTime + 2*BeatInterval + 2*c.env.slowest()
}

// slowest is the longest latency of any link.
func (e *Env) slowest() time.Duration {
	d := baseDelay
	for _, l := range e.links {
		d = max(d, l.latency())
	}
	return d
}

func (c *checker) started(n *node) {
	n.memory = memory{heard: map[netip.Addr]uint64{}, own: map[netip.Addr]uint64{}, lives: map[int]life{}}
}

// heard notes what n is about to be told.
func (c *checker) heard(n *node, msg message, b election.Beat) {
	if n.memory.lives[msg.from].number != msg.life {
		n.memory.lives[msg.from] = life{msg.life, c.env.now}
	}
	for _, cl := range b.Claims {
		n.memory.heard[cl.Addr] = max(n.memory.heard[cl.Addr], cl.Epoch)
	}
}

// sent checks what n claims.
func (c *checker) sent(n *node, b election.Beat) {
	for _, cl := range b.Claims {
		own := n.memory.own[cl.Addr]
		if cl.Epoch == own {
			continue
		}
		if cl.Epoch < own {
			c.fail("%s: epoch of %s fell from %d to %d", cl.Addr, n.name, own, cl.Epoch)
		}
		if heard := n.memory.heard[cl.Addr]; cl.Epoch <= heard {
			c.fail("%s: %s claims epoch %d having heard %d", cl.Addr, n.name, cl.Epoch, heard)
		}
		n.memory.own[cl.Addr] = cl.Epoch
	}
}

// effects counts what quiet must not see.
func (c *checker) effects(n *node, fx election.Effects) {
	c.transitions += len(fx.Transitions)
	if fx.SendNow {
		c.urgent++
	}
	if n.refresh() {
		c.versions++
		c.compareShown(n)
		c.update(n)
	}
}

// compareShown checks n's new view against the one before. An owner that was
// restarted since, by what n heard, may have forgotten.
func (c *checker) compareShown(n *node) {
	for a, o := range n.views {
		before, ok := n.memory.shown[a]
		if !ok || o.Owner == "" || o.Owner != before.Owner || o.Epoch >= before.Epoch {
			continue
		}
		if n.memory.lives[c.env.node(o.Owner).index].since < before.Since {
			c.fail("%s: %s sees the epoch of %s fall from %d to %d", a, n.name, o.Owner, before.Epoch, o.Epoch)
		}
	}
	n.memory.shown = n.views
}

// update brings answering in line with n.
func (c *checker) update(n *node) {
	now := c.env.now
	bit := uint64(1) << n.index
	for _, a := range c.env.vips {
		s := c.answering[a]
		if s == nil {
			s = &answerers{silent: now, both: make(map[[2]int]time.Duration)}
			c.answering[a] = s
		}
		does, did := n.answers(a), s.nodes&bit != 0
		switch {
		case does && !did:
			if s.nodes == 0 {
				c.worst = max(c.worst, now-s.silent)
			}
			for _, o := range c.env.nodes {
				if s.nodes&(1<<o.index) != 0 {
					s.both[pair(n, o)] = now
				}
			}
			s.nodes |= bit
		case !does && did:
			s.nodes &^= bit
			for k := range s.both {
				if k[0] == n.index || k[1] == n.index {
					delete(s.both, k)
				}
			}
			if s.nodes == 0 {
				s.silent = now
			}
		}
	}
}

func pair(a, b *node) [2]int { return [2]int{min(a.index, b.index), max(a.index, b.index)} }

// disturb notes that a command has changed the world.
func (c *checker) disturb() {
	c.disturbed = c.env.now
	for _, n := range c.env.nodes {
		c.update(n)
	}
}

// step checks what depends on time.
func (c *checker) step() {
	now := c.env.now
	for _, a := range c.env.vips {
		s := c.answering[a]
		if s == nil {
			continue
		}
		if s.nodes == 0 {
			if since := max(s.silent, c.disturbed); now-since > c.silenceBound() && c.couldOwn(a) {
				c.fail("%s: nobody answers since %s", a, stamp(s.silent))
			}
			continue
		}
		if bits.OnesCount64(s.nodes) > 1 {
			c.checkPairs(a, s)
		}
	}
}

// couldOwn reports whether some running node may own a by its own view.
func (c *checker) couldOwn(a netip.Addr) bool {
	return slices.ContainsFunc(c.env.nodes, func(n *node) bool {
		if !n.running() || n.lacks[a] {
			return false
		}
		r := n.refused[a][n.name]
		return (r == lb.Eligible || r.Soft()) && (n.self == lb.Eligible || n.self.Soft())
	})
}

// checkPairs checks that nodes that hear each other don't both answer.
func (c *checker) checkPairs(a netip.Addr, s *answerers) {
	for k, since := range s.both {
		ab, ba := c.env.link(k[0], k[1]), c.env.link(k[1], k[0])
		x, y := c.env.nodes[k[0]], c.env.nodes[k[1]]
		since = max(since, ab.changed, ba.changed, x.resumed, y.resumed)
		var bound time.Duration
		switch {
		case ab.perfect() && ba.perfect():
			bound = BeatInterval + 3*max(ab.latency(), ba.latency())
		case ab.perfect() && ba.cut, ba.perfect() && ab.cut:
			bound = 3*DeadTime + BeatInterval + max(ab.latency(), ba.latency())
		default:
			continue
		}
		if c.env.now-since > bound {
			c.fail("%s: %s and %s both answer since %s", a, x.name, y.name, stamp(since))
		}
	}
}

// owners returns who answers for each VIP, "" for nobody or several.
func (c *checker) owners() map[netip.Addr]string {
	owners := make(map[netip.Addr]string)
	for _, a := range c.env.vips {
		if s := c.answering[a]; s != nil && bits.OnesCount64(s.nodes) == 1 {
			owners[a] = c.env.nodes[bits.TrailingZeros64(s.nodes)].name
		}
	}
	return owners
}

// checkSettled checks that exactly one node answers for each VIP that can be
// owned, and that all running nodes agree.
func (c *checker) checkSettled() {
	owners := c.owners()
	for _, a := range c.env.vips {
		owner := owners[a]
		if owner == "" {
			if n := c.answering[a].nodes; n != 0 || c.couldOwn(a) {
				c.fail("%s: %d nodes answer after settling", a, bits.OnesCount64(n))
			}
			continue
		}
		for _, n := range c.env.nodes {
			if o, ok := n.views[a]; ok && n.running() && o.Owner != owner {
				c.fail("%s: %s takes %q for the owner, which is %s", a, n.name, o.Owner, owner)
			}
		}
	}
}

// checkMoves checks that since the mark exactly the VIPs of one node moved.
func (c *checker) checkMoves(of string) {
	now := c.owners()
	for a, before := range c.mark {
		if moved := now[a] != before; moved != (before == of) {
			c.fail("%s: went from %s to %q although %s failed", a, before, now[a], of)
		}
	}
}

// checkSilence checks that since the mark no VIP was silent for longer than d.
func (c *checker) checkSilence(d time.Duration) {
	if c.worst > d {
		c.fail("a VIP was silent for %s, want at most %s", stamp(c.worst), d)
	}
}

// checkBalanced checks that no two running nodes' loads differ by more than
// one. It is meant for worlds without refusals.
func (c *checker) checkBalanced() {
	load := make(map[string]int)
	for _, n := range c.env.nodes {
		if n.running() {
			load[n.name] = 0
		}
	}
	for _, owner := range c.owners() {
		load[owner]++
	}
	least, most := len(c.env.vips), 0
	for _, n := range load {
		least, most = min(least, n), max(most, n)
	}
	if most-least > 1 {
		c.fail("loads differ by %d: %v", most-least, load)
	}
}

// checkQuiet lets time pass in which nothing may change.
func (c *checker) checkQuiet(d time.Duration) {
	c.transitions, c.urgent, c.versions = 0, 0, 0
	c.env.advance(d)
	if c.transitions+c.urgent+c.versions > 0 {
		c.fail("not quiet: %d transitions, %d urgent beats, %d new versions", c.transitions, c.urgent, c.versions)
	}
}
