package lab

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// agentKill kills the owner's agent, which gets no chance to say anything. Its
// node lives, and forwards what still comes to it.
func agentKill() scenario {
	return scenario{
		Scenario: Scenario{"agent-kill", "the owner's agent is killed (SIGKILL): another node takes over"},
		spec:     baseSpec(),
		play:     playAgentKill,
	}
}

func playAgentKill(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	victim := before[s.vip].node
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}
	t := time.Now()
	if err := s.agents[victim].signal(unix.SIGKILL); err != nil {
		return err
	}
	s.say.Step("agent of %s killed, the owner of %s", victim, join(before.of(victim)))
	if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
		return err
	}
	after, err := s.settle(ctx, s.others(victim))
	if err != nil {
		return err
	}
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, after, s.others(victim)); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, after)
	s.silence()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}
