package lab

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
)

// scaleSpec is 500 VIPs on five nodes: 250 services with one of each family.
func scaleSpec() clusterSpec {
	services := scaleServices(250)
	return clusterSpec{
		nodes: 5, podsPerNode: 1, bits4: 22,
		services: services,
		asked:    allVIPs(services[:3]),
		late:     true,
	}
}

// scaleVIPs spreads hundreds of VIPs over nodes and pulls one node's cable.
func scaleVIPs() scenario {
	return scenario{
		Scenario: Scenario{"scale-vips", "500 VIPs over 5 nodes: spread evenly; one node's cable is pulled, its VIPs move, only those"},
		spec:     scaleSpec(),
		play:     playScaleVIPs,
	}
}

func playScaleVIPs(ctx context.Context, s *stage) error {
	before, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.balanced("VIPs per node", before, s.nodeNames(), 1)
	s.sameAsSeen(ctx, before)
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
	lost := before.of(victim)
	s.say.Step("cable of %s pulled, the owner of %d VIPs", victim, len(lost))
	if err := s.takeover(ctx, victim, lost, t); err != nil {
		return err
	}
	after, err := s.settle(ctx, s.others(victim))
	if err != nil {
		return err
	}
	if err := s.calm(ctx, "VIPs that moved afterwards", aftermath, after, s.others(victim)); err != nil {
		return err
	}
	s.say.Info("%s", after.describe(s.others(victim)))
	s.noteAnnounced(lost, s.node(victim).Port(), t)
	s.stopProbes()
	s.moved(victim, before, after)
	s.balanced("VIPs per node that is left", after, s.others(victim), 2)
	s.sameAsSeen(ctx, after)
	s.silence()
	s.singleOwner(twoOwners, maxDuplicate, nil)
	return nil
}

// balanced records that no node has more than slack VIPs more or less than its
// share.
func (s *stage) balanced(name string, o ownership, nodes []string, slack int) {
	counts := o.perNode(nodes)
	least, most := slices.Min(slices.Collect(maps.Values(counts))), slices.Max(slices.Collect(maps.Values(counts)))
	low, high := len(o)/len(nodes), (len(o)+len(nodes)-1)/len(nodes)
	s.add(name, least >= low-slack && most <= high+slack,
		fmt.Sprintf("%d to %d", low-slack, high+slack), fmt.Sprintf("%d to %d", least, most))
}

// noteAnnounced notes when the first and the last of the VIPs were announced
// by somebody else.
func (s *stage) noteAnnounced(vips []netip.Addr, old string, since time.Time) {
	first := make(map[netip.Addr]time.Time)
	for _, e := range s.sightings(func(e capture.Event) bool { return e.Port != old && e.At.After(since) }) {
		if _, ok := first[e.Addr]; !ok {
			first[e.Addr] = e.At
		}
	}
	var after []time.Duration
	for _, v := range vips {
		if at, ok := first[v]; ok {
			after = append(after, at.Sub(since))
		}
	}
	if len(after) == 0 {
		return
	}
	slices.Sort(after)
	s.note("%d of %d VIPs announced by others, the first after %s, half after %s, the last after %s",
		len(after), len(vips), millis(after[0]), millis(after[len(after)/2]), millis(after[len(after)-1]))
}
