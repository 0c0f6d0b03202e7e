package lab

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// agentStop asks the owner's agent to end, as an upgrade does. Nobody may
// notice.
func agentStop() scenario {
	return scenario{
		Scenario: Scenario{"agent-stop", "the owner's agent is asked to end (SIGTERM): it hands over first, nothing is lost"},
		spec:     baseSpec(),
		play:     playAgentStop,
	}
}

func playAgentStop(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	victim := before[s.vip].node
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}
	t := time.Now()
	if err := s.agents[victim].signal(unix.SIGTERM); err != nil {
		return err
	}
	s.say.Step("agent of %s told to end, the owner of %s", victim, join(before.of(victim)))
	if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
		return err
	}
	if err := s.exit(ctx, victim); err != nil {
		return err
	}
	s.say.Info("it ended after %s", millis(time.Since(t)))
	after, err := s.settle(ctx, s.others(victim))
	if err != nil {
		return err
	}
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, after, s.others(victim)); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, after)
	s.nothingLost()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}
