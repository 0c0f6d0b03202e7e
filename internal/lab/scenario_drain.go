package lab

import (
	"context"
	"fmt"
	"time"
)

// drainNode asks a node to give up all its VIPs, before maintenance. Nobody
// may notice, and nothing may come back by itself afterwards.
func drainNode() scenario {
	return scenario{
		Scenario: Scenario{"drain", "the owner's node is annotated fairlead.dev/drain: it hands over everything, nothing is lost"},
		spec:     baseSpec(),
		play:     playDrain,
	}
}

func playDrain(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	victim := before[s.vip].node
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}
	t := time.Now()
	if err := s.drain(victim, true); err != nil {
		return err
	}
	s.say.Step("%s is to be drained, the owner of %s", victim, join(before.of(victim)))
	if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
		return err
	}
	drained, err := s.emptied(ctx, victim)
	if err != nil {
		return err
	}
	s.say.Info("%s", drained.describe(s.nodeNames()))
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, drained, s.nodeNames()); err != nil {
		return err
	}

	if err := s.drain(victim, false); err != nil {
		return err
	}
	s.say.Step("%s may own VIPs again", victim)
	if err := s.calm(ctx, "VIPs that moved back", aftermath, drained, s.nodeNames()); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, drained)
	s.nothingLost()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}

// emptied waits until all agents agree that a node owns nothing.
func (s *stage) emptied(ctx context.Context, node string) (ownership, error) {
	ctx, cancel := context.WithTimeout(ctx, takeoverTimeout)
	defer cancel()
	for {
		o, err := s.settle(ctx, s.nodeNames())
		if err != nil {
			return nil, err
		}
		left := o.of(node)
		if len(left) == 0 {
			return o, nil
		}
		if !sleep(ctx, pollInterval) {
			return nil, fmt.Errorf("%s still owns %s after %s: read %s", node, join(left), takeoverTimeout, s.agents[node].log())
		}
	}
}
