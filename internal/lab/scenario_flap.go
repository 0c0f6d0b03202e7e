package lab

import (
	"context"
	"time"
)

const (
	flaps    = 5
	flapDown = 500 * time.Millisecond // more than the dead time
	flapUp   = 700 * time.Millisecond // enough to be heard as alive again
)

// flap pulls and plugs a node's cable several times. Its VIPs move once, and
// then nothing.
func flap() scenario {
	return scenario{
		Scenario: Scenario{"flap", "a node goes and comes five times: its VIPs move once, none moves back"},
		spec:     baseSpec(),
		play:     playFlap,
	}
}

func playFlap(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	victim := before[s.vip].node
	if err := s.withdraw(victim); err != nil {
		return err
	}
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}
	var moved ownership
	for i := range flaps {
		t := time.Now()
		if err := s.Unplug(s.node(victim)); err != nil {
			return err
		}
		s.say.Step("cable of %s pulled (%d of %d)", victim, i+1, flaps)
		if i == 0 {
			if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
				return err
			}
			if moved, err = s.settle(ctx, s.others(victim)); err != nil {
				return err
			}
		}
		if err := s.watch(ctx, flapDown-time.Since(t)); err != nil {
			return err
		}
		if err := s.Plug(s.node(victim)); err != nil {
			return err
		}
		s.say.Info("cable of %s back", victim)
		if err := s.watch(ctx, flapUp); err != nil {
			return err
		}
	}
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, moved, s.nodeNames()); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, moved)
	s.movedOnce(before, moved)
	s.silence()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}
