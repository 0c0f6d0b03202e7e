package lab

import (
	"context"
	"time"
)

// ownerCrash pulls the cable of the owner of a VIP. It is the demo.
func ownerCrash() scenario {
	return scenario{
		Scenario: Scenario{"owner-crash", "the cable of a VIP's owner is pulled: another node takes over"},
		spec:     baseSpec(),
		play:     playOwnerCrash,
	}
}

func playOwnerCrash(ctx context.Context, s *stage) error {
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

	t := time.Now()
	if err := s.Unplug(s.node(victim)); err != nil {
		return err
	}
	s.say.Step("cable of %s pulled, the owner of %s", victim, join(before.of(victim)))
	if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
		return err
	}
	after, err := s.settle(ctx, s.others(victim))
	if err != nil {
		return err
	}
	s.say.Info("%s", after.describe(s.others(victim)))
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, after, s.others(victim)); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, after)
	s.silence()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}
