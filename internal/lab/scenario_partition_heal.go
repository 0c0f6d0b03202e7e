package lab

import (
	"context"
	"fmt"
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

// partitionHeal splits the segment, with an owner and the client on one side
// and the other nodes on the other. Each side serves every VIP; when the
// segment is whole again one owner is left, the one with the higher epoch.
func partitionHeal() scenario {
	return scenario{
		Scenario: Scenario{"partition-heal", "the segment is split and made whole: each side keeps every VIP, then one owner is left"},
		spec:     baseSpec(),
		play:     playPartitionHeal,
	}
}

func playPartitionHeal(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	here := []string{before[s.vip].node}
	there := s.others(here[0])
	s.say.Info("endpoints off %s are withdrawn beforehand: the client's side could not reach them", here[0])
	if err := s.serveFrom(func(n string) bool { return n == here[0] }); err != nil {
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
	s.say.Step("the segment is split: the client and %s | %s", here[0], strings.Join(there, ", "))
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
	s.singleOwner(maxHealing, func(e capture.Event) bool { return e.At.Before(split) || e.At.After(healed) })
	for _, side := range [][]string{here, there} {
		s.singleOwner(maxDuplicate, func(e capture.Event) bool {
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
		why := fmt.Sprintf("%s had epoch %d, %s had %d", a[addr].node, a[addr].epoch, b[addr].node, b[addr].epoch)
		s.note("%s is owned by %s with epoch %d: %s", addr, c.node, c.epoch, why)
		if a[addr].epoch != b[addr].epoch && c.node != winner.node {
			wrong++
		}
	}
	s.count("VIPs not owned by the higher epoch", 0, wrong)
}
