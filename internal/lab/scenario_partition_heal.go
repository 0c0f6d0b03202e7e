package lab

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
)

const (
	// splitTime is how long the segment stays split.
	splitTime = 2 * time.Second
	// maxHealing is how long two nodes may answer for a VIP after the segment is
	// whole again: until each has heard the other.
	maxHealing = 200 * time.Millisecond
)

// partitionHeal splits the segment in half, with an owner and the client on
// one side. Each side serves every VIP; when the segment is whole again one
// owner is left, the one with the higher epoch. Two nodes on each side, because
// a single one would know that it was cut off, and let the others have their
// VIPs back.
func partitionHeal() scenario {
	spec := baseSpec()
	spec.nodes, spec.podsPerNode = 4, 1
	return scenario{
		Scenario: Scenario{"partition-heal", "the segment is split and made whole: each side serves every VIP, then one owner is left"},
		spec:     spec,
		play:     playPartitionHeal,
	}
}

func playPartitionHeal(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	owner := before[s.vip].node
	here := []string{owner, s.others(owner)[0]}
	there := s.others(owner)[1:]
	slices.Sort(here)
	s.say.Info("endpoints on %s are withdrawn beforehand: the client's side could not reach them", strings.Join(there, ", "))
	if err := s.serveFrom(func(n string) bool { return slices.Contains(here, n) }); err != nil {
		return err
	}
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}

	var moving []topo.Host
	for _, n := range there {
		moving = append(moving, s.node(n))
	}
	split := time.Now()
	if err := s.Move(topo.OtherBridge, moving...); err != nil {
		return err
	}
	s.say.Step("the segment is split: the client, %s | %s", strings.Join(here, ", "), strings.Join(there, ", "))
	onThisSide, err := s.settle(ctx, here)
	if err != nil {
		return err
	}
	onThatSide, err := s.settle(ctx, there)
	if err != nil {
		return err
	}
	s.say.Info("after %s each side serves every VIP\n%s\n%s", millis(time.Since(split)),
		onThisSide.describe(here), onThatSide.describe(there))
	if err := s.watch(ctx, splitTime-time.Since(split)); err != nil {
		return err
	}

	if err := s.Move(topo.Bridge, moving...); err != nil {
		return err
	}
	healed := time.Now()
	s.say.Step("the segment is whole again")
	after, err := s.settle(ctx, s.nodeNames())
	if err != nil {
		return err
	}
	s.say.Info("after %s all agree\n%s", millis(time.Since(healed)), after.describe(s.nodeNames()))
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, after, s.nodeNames()); err != nil {
		return err
	}
	s.stopProbes()

	s.epochsDecide(onThisSide, onThatSide, after)
	s.silence()
	// During the split each side is a segment of its own. The ports of those that
	// move are moved one after the other: between the first and the last of them
	// nothing can be said.
	s.singleOwner(twoOwners+" when whole", maxHealing, func(e capture.Event) bool { return e.At.Before(split) || e.At.After(healed) })
	for _, side := range [][]string{here, there} {
		s.singleOwner(twoOwners+" beside "+side[0], maxDuplicate, func(e capture.Event) bool {
			return slices.Contains(side, e.Port[len("p-"):]) && e.At.After(split) && e.At.Before(healed)
		})
	}
	return nil
}

// epochsDecide records that each VIP went to the side that had claimed it with
// the higher epoch.
func (s *stage) epochsDecide(a, b, after ownership) {
	wrong := 0
	for addr, c := range after {
		winner := a[addr]
		if b[addr].epoch > winner.epoch {
			winner = b[addr]
		}
		s.note("%s is owned by %s: %s had epoch %d, %s had %d", addr, c.node, a[addr].node, a[addr].epoch, b[addr].node, b[addr].epoch)
		if c.epoch < winner.epoch || a[addr].epoch != b[addr].epoch && c.node != winner.node {
			wrong++
		}
	}
	s.count("VIPs not owned by the higher epoch", 0, wrong)
}
