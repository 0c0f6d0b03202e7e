package lab

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
)

// hangTime is how long the agent hangs: long enough that its socket is full of
// questions that it would answer if it took itself for the owner still.
const hangTime = 3 * time.Second

// agentHang stops the owner's agent for a while. When it goes on it must not
// answer as if nothing had happened, nor take anything back.
func agentHang() scenario {
	return scenario{
		Scenario: Scenario{"agent-hang", "the owner's agent hangs for 3 s (SIGSTOP, SIGCONT): it must not answer for what others own by then"},
		spec:     baseSpec(),
		play:     playAgentHang,
	}
}

func playAgentHang(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	victim := before[s.vip].node
	if err := s.probeVIP(ctx, before); err != nil {
		return err
	}
	t := time.Now()
	if err := s.agents[victim].signal(unix.SIGSTOP); err != nil {
		return err
	}
	s.say.Step("agent of %s stopped, the owner of %s", victim, join(before.of(victim)))
	if err := s.takeover(ctx, victim, before.of(victim), t); err != nil {
		return err
	}
	moved, err := s.settle(ctx, s.others(victim))
	if err != nil {
		return err
	}
	s.say.Info("%s", moved.describe(s.others(victim)))
	if err := s.watch(ctx, hangTime-time.Since(t)); err != nil {
		return err
	}

	woken := time.Now()
	if err := s.agents[victim].signal(unix.SIGCONT); err != nil {
		return err
	}
	s.say.Step("agent of %s goes on", victim)
	if err := s.calm(ctx, "VIPs that moved when it went on", aftermath, moved, s.nodeNames()); err != nil {
		return err
	}
	s.stopProbes()
	s.moved(victim, before, moved)
	port := s.node(victim).Port()
	late := s.sightings(func(e capture.Event) bool { return e.Port == port && e.At.After(woken) })
	s.note("%d answers from %s after it went on", len(late), victim)
	s.silence()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}
