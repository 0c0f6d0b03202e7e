package agent

import (
	"context"
	"maps"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
	"github.com/fairlead-lb/fairlead/internal/membership"
)

// eventBatch bounds how many membership events are taken before the loop looks
// at anything else.
const eventBatch = 256

// loop owns the agent's state: it takes one input at a time and brings the
// drivers in line with it. It returns when ctx is done, or, after stop is
// closed, when the VIPs are handed over.
func (a *Agent) loop(ctx context.Context, stop <-chan struct{}) error {
	dead := a.parts.Members.DeadTime()
	beat := dead * 2 / 3
	timer := time.NewTimer(beat)
	defer timer.Stop()
	var giveUp <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case snap := <-a.parts.Source.Updates():
			a.takeSnapshot(snap)
		case st := <-a.parts.Links.Updates():
			a.takeLinks(st)
		case ev := <-a.parts.Members.Events():
			a.takeEvents(ev)
		case <-a.parts.Announcer.Events():
			a.takeStatuses()
		case f := <-a.ask:
			f()
		case <-stop:
			stop = nil
			a.startDraining()
			giveUp = time.After(a.cfg.DrainTimeout)
		case <-giveUp:
			a.log.Warn("stopping with VIPs that nobody took over", "vips", a.ownedVIPs())
			return nil
		case <-timer.C:
		}
		next := a.step(dead)
		if a.draining && a.drained() {
			a.log.Info("nothing left to hand over")
			return nil
		}
		timer.Reset(min(beat, next))
	}
}

// now is election time.
func (a *Agent) now() election.Time { return time.Since(a.start) }

// step ticks every election, applies what changed, and returns after how long
// the next tick is of use.
func (a *Agent) step(dead time.Duration) time.Duration {
	now := a.now()
	next := time.Hour
	a.checkGrace()
	a.checkTrouble()
	apply := a.dropped
	for _, s := range a.segments {
		s.forget(time.Now())
		s.machine.Tick(now)
		eff := s.machine.Take()
		a.report(s, eff.Transitions)
		changed := s.dirty || s.applied != s.machine.Version()
		apply = apply || changed
		if changed || eff.SendNow {
			a.parts.Members.Publish(s.name, s.machine.Beat(), eff.SendNow)
		}
		s.applied = s.machine.Version()
		if d, ok := s.machine.Deadline(); ok {
			next = min(next, max(d-now, time.Millisecond))
		}
	}
	if apply {
		a.announce()
	}
	// Only now, with everything heard and applied, may the announcer go on.
	a.parts.Announcer.Extend(time.Now().Add(dead))
	a.parts.Members.Confirm()
	return next
}

// announce hands the whole desired state to the announcer.
func (a *Agent) announce() {
	a.dropped = false
	var d announce.Desired
	var own []lb.MAC
	for _, s := range a.segments {
		if !s.iface.MAC.IsZero() {
			own = append(own, s.iface.MAC)
		}
	}
	for _, s := range a.segments {
		d.Links = append(d.Links, s.desired(own))
		s.dirty = false
	}
	if err := a.parts.Announcer.Set(d); err != nil {
		a.log.Warn("announcing is incomplete", "err", err)
	}
}

// takeEvents handles ev and whatever else membership has queued, so that a
// peer's silence is never judged before its words are heard.
func (a *Agent) takeEvents(ev membership.Event) {
	for range eventBatch {
		a.takeEvent(ev)
		select {
		case ev = <-a.parts.Members.Events():
		default:
			return
		}
	}
}

func (a *Agent) takeEvent(ev membership.Event) {
	i, ok := a.findSegment(ev.Peer.Interface)
	if !ok {
		return
	}
	s := a.segments[i]
	p := s.peers[ev.Peer.Node]
	switch {
	case ev.Lost:
		a.log.Warn("member lost", "member", ev.Peer.Node, "interface", s.name)
	case p == nil || !p.alive:
		a.log.Info("member heard", "member", ev.Peer.Node, "interface", s.name, "mac", ev.Peer.MAC)
	case p.HearsUs != ev.Peer.HearsUs:
		a.log.Info("member hears us", "member", ev.Peer.Node, "interface", s.name, "hears", ev.Peer.HearsUs)
	}
	if s.hear(a.now(), ev) {
		if unknown(a.snap, ev.Peer.Node) {
			a.log.Warn("member is none of the manifests' nodes: another cluster on this segment needs a key of its own", "member", ev.Peer.Node)
		}
		a.setVIPs(s)
	}
}

func (a *Agent) takeSnapshot(snap *lb.Snapshot) {
	a.log.Info("manifests loaded", "nodes", len(snap.Nodes), "services", len(snap.Services), "problems", len(snap.Problems))
	a.reportProblems(snap)
	// Reading manifests leaves many times their result behind: give it back.
	go debug.FreeOSMemory()
	a.snap = snap
	a.grace.see(snap.Nodes, time.Now())
	a.replan()
}

// reportProblems logs the problems that are new in snap.
func (a *Agent) reportProblems(snap *lb.Snapshot) {
	known := make(map[string]bool)
	if a.snap != nil {
		for _, p := range a.snap.Problems {
			known[p.String()] = true
		}
	}
	for _, p := range snap.Problems {
		if !known[p.String()] {
			a.log.Warn("problem in the manifests", "kind", p.Kind, "problem", p.String())
		}
	}
}

func (a *Agent) takeLinks(st link.State) {
	a.ifaces, a.haveLink = st, true
	a.replan()
}

// replan re-chooses the announcing interfaces and gives every election its
// VIPs: it depends on both the snapshot and the interfaces.
func (a *Agent) replan() {
	if a.snap == nil || !a.haveLink {
		return
	}
	var bad []lb.Problem
	a.vips, bad = unusable(a.snap.VIPs(), func(addr netip.Addr) (lb.ProblemKind, string) {
		return a.ifaces.Unannounceable(addr)
	})
	bad = append(bad, unsupported(a.snap, a.cfg.Forwarding)...)
	for _, p := range bad {
		if !slices.Contains(a.unusable, p) {
			a.log.Warn("problem on this node", "kind", p.Kind, "problem", p.String())
		}
	}
	a.unusable = bad
	a.chooseSegments()
	for _, s := range a.segments {
		a.setVIPs(s)
	}
}

// setVIPs gives a segment's election its VIPs.
func (a *Agent) setVIPs(s *segment) {
	facts := segmentFacts{
		Interface: s.name, Automatic: s.automatic, Self: a.cfg.Node, Peers: s.peerNames(), NotReady: a.notReady, Trouble: s.trouble,
	}
	vips := eligible(a.snap, a.vips, facts)
	s.holds = [announce.Families]bool{}
	for _, v := range vips {
		s.holds[announce.FamilyOf(v.Addr)] = true
	}
	s.machine.SetVIPs(a.now(), vips)
	s.schedules = schedules(a.vips, facts)
	s.dirty = true
}

// checkGrace gives the elections new refusals when a node has become NotReady
// for longer than the grace, or ready again.
func (a *Agent) checkGrace() {
	over := a.grace.over(time.Now())
	if maps.Equal(over, a.notReady) {
		return
	}
	a.notReady = over
	for _, s := range a.segments {
		a.setVIPs(s)
	}
}

// checkTrouble gives an election new refusals when the announcer can't announce
// a family there, or can again: an owner that nobody can hear must not keep
// those from owning whom the network would hear.
func (a *Agent) checkTrouble() {
	for _, s := range a.segments {
		var now [announce.Families]bool
		for f := range announce.Families {
			now[f] = a.parts.Announcer.Trouble(s.name, announce.Family(f)) != ""
		}
		if now == s.trouble {
			continue
		}
		s.trouble = now
		a.setVIPs(s)
	}
}

// chooseSegments makes the segments be those that the flags, the node's
// addresses and the Announcements ask for.
func (a *Agent) chooseSegments() {
	node, _ := a.snap.Node(a.cfg.Node)
	chosen := make(map[string]bool) // name -> chosen without a rule
	before := a.choices
	a.choices = link.Select(a.ifaces, node.Addresses, a.cfg.Interfaces)
	a.reportChoices(before)
	for _, c := range a.choices {
		if c.Selected() {
			chosen[c.Name] = true
		}
	}
	for _, i := range a.ifaces.Interfaces {
		if chosen[i.Name] || i.Name == "lo" {
			continue
		}
		for _, r := range a.snap.Announcements {
			if r.NodeSelector.Matches(node.Labels) && r.MatchesInterface(i.Name) {
				chosen[i.Name] = false
				break
			}
		}
	}
	a.segments = slices.DeleteFunc(a.segments, func(s *segment) bool {
		_, keep := chosen[s.name]
		if !keep {
			a.log.Info("interface is no longer announced on", "interface", s.name)
			a.dropped = true
		}
		return !keep
	})
	for name, automatic := range chosen {
		i, ok := a.findSegment(name)
		if !ok {
			a.segments = slices.Insert(a.segments, i, a.newSegment(name))
		}
		a.segments[i].automatic = automatic
		a.updateLink(a.segments[i])
	}
	a.setMembershipLinks()
}

// reportChoices logs the interfaces that were asked for and can't be had, and
// that there is none at all, when that is news.
func (a *Agent) reportChoices(before []link.Choice) {
	any := false
	for _, c := range a.choices {
		any = any || c.Selected()
		if slices.Contains(before, c) {
			continue
		}
		switch c.Reason {
		case link.Missing:
			a.log.Warn("no such interface: waiting for it", "interface", c.Name)
		case link.Loopback, link.NoMAC:
			a.log.Warn("interface can't be announced on", "interface", c.Name, "reason", c.Reason)
		}
	}
	if !any && !slices.Equal(before, a.choices) {
		a.log.Warn("no interface to announce on: none holds this node's InternalIP, or none of those asked for is there; give one with --interface",
			"node", a.cfg.Node)
	}
}

func (a *Agent) newSegment(name string) *segment {
	a.log.Info("announcing on interface", "interface", name)
	return &segment{
		name: name, peers: make(map[string]*peer), last: make(map[netip.Addr]election.Transition), dirty: true,
		machine: election.New(election.Config{
			Self: a.cfg.Node, DeadTime: a.parts.Members.DeadTime(), BootEpoch: uint64(time.Now().Unix()),
		}, a.now()),
	}
}

func (a *Agent) findSegment(name string) (int, bool) {
	return slices.BinarySearchFunc(a.segments, name, func(s *segment, name string) int { return strings.Compare(s.name, name) })
}

// report logs, counts and remembers transitions.
func (a *Agent) report(s *segment, ts []election.Transition) {
	for _, t := range ts {
		a.changes.Inc(t.Change)
		s.last[t.Addr] = t
		a.log.Info("vip "+strings.ReplaceAll(t.Change.String(), "_", " "),
			"vip", t.Addr, "interface", s.name, "from", t.From, "to", t.To, "epoch", t.Epoch)
	}
}
