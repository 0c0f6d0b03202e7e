package lab

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/capture"
	"github.com/fairlead-lb/fairlead/internal/lab/pod"
	"github.com/fairlead-lb/fairlead/internal/lab/probe"
)

const (
	udpInterval  = 5 * time.Millisecond
	tcpInterval  = 50 * time.Millisecond
	httpInterval = 20 * time.Millisecond
	tcpConns     = 50

	// warmUp is longer than the second for which Linux locks a fresh neighbour
	// entry: a VIP that moves sooner would measure that.
	warmUp = 1500 * time.Millisecond
	// aftermath is for how long a scenario looks on when all is over: TCP has
	// retransmitted, a late duplicate shows itself.
	aftermath = 1500 * time.Millisecond
	// takeoverTimeout is how long to wait for another node to answer.
	takeoverTimeout = 5 * time.Second

	// tenureWindow is how far apart two answers of an owner may be: a few
	// questions may get lost on a busy machine.
	tenureWindow = 5 * askInterval

	// maxGap is the silence that a single unplanned move may cost. It is more
	// than the numbers that many runs are held to: one run on a busy machine
	// says little.
	maxGap = 500 * time.Millisecond
	// maxDuplicate is one exchange of heartbeats: for so long two nodes that hear
	// each other may answer for the same VIP.
	maxDuplicate = 50 * time.Millisecond

	twoOwners = "two nodes answering for a VIP"
)

// stage is what a scenario plays on: a cluster, a client's probes, what was
// found so far.
type stage struct {
	*cluster
	checks
	notes []string
	vip   netip.Addr // that the probes watch

	udp  *probe.UDP
	tcp  *probe.TCP
	http *probe.HTTP
	res  Result
}

// note adds a line to the result's notes and tells it.
func (s *stage) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.notes = append(s.notes, line)
	s.say.Info("%s", line)
}

// open starts everything: pods, the switch's recorder, agents; it returns the
// first owners.
func (s *stage) open(ctx context.Context) (ownership, error) {
	s.say.Step("a network of %d nodes in namespaces %s-*\n%s", len(s.Nodes), s.Prefix, s.Draw())
	if err := s.servePods(); err != nil {
		return nil, err
	}
	if err := s.watchSwitch(); err != nil {
		return nil, err
	}
	s.say.Step("agents start on %d nodes", len(s.Nodes))
	if err := s.startAgents(); err != nil {
		return nil, err
	}
	if s.spec.late {
		if err := s.meet(ctx); err != nil {
			return nil, err
		}
		s.say.Step("%d services with %d VIPs appear", len(s.spec.services), len(allVIPs(s.spec.services)))
		if err := s.writeServices(); err != nil {
			return nil, err
		}
	}
	owners, err := s.settle(ctx, s.nodeNames())
	if err != nil {
		return nil, err
	}
	s.say.Info("%s", owners.describe(s.nodeNames()))
	return owners, nil
}

// probeVIP starts the probes of a client and lets them run for a while, in
// which nothing may move.
func (s *stage) probeVIP(ctx context.Context, before ownership) error {
	client := s.Namespace(s.Client.Name)
	echo := netip.AddrPortFrom(s.vip, echoPort)
	var err error
	if s.udp, err = probe.StartUDP(client, echo, udpInterval); err != nil {
		return err
	}
	if s.tcp, err = probe.StartTCP(ctx, client, echo, tcpConns, tcpInterval); err != nil {
		return err
	}
	var web []netip.AddrPort
	for _, v := range s.spec.asked {
		web = append(web, netip.AddrPortFrom(v, webPort))
	}
	s.http = probe.StartHTTP(client, web, pod.PodHeader, httpInterval)
	s.say.Step("the client probes %s: UDP every %s, %d TCP connections; HTTP to %d VIPs", s.vip, udpInterval, tcpConns, len(web))
	return s.calm(ctx, "VIPs that moved before anything happened", warmUp, before, s.nodeNames())
}

// calm lets time pass and records that no VIP has moved in it.
func (s *stage) calm(ctx context.Context, name string, d time.Duration, was ownership, nodes []string) error {
	if err := s.watch(ctx, d); err != nil {
		return err
	}
	is, err := s.settle(ctx, nodes)
	if err != nil {
		return err
	}
	s.count(name, 0, len(is.moved(was)))
	return nil
}

// watch lets time pass and tells how requests fare, once a second.
func (s *stage) watch(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		if !sleep(ctx, min(left, time.Second)) {
			return context.Cause(ctx)
		}
		if s.http != nil {
			r := s.http.Report()
			s.say.Info("%d requests answered by %d pods, %d failed", r.Answered, len(r.ByPod), r.Failed)
		}
	}
}

// withdraw takes the pods of a node out of all services, as a cluster does
// when the node is lost: what the client then notices is the VIP's move alone.
func (s *stage) withdraw(node string) error {
	s.say.Info("endpoints on %s are withdrawn beforehand: they would go with its cable", node)
	return s.serveFrom(func(n string) bool { return n != node })
}

// takeover waits until others answer for each of the VIPs that are asked for
// and belonged to a node, and tells who and when.
func (s *stage) takeover(ctx context.Context, from string, vips []netip.Addr, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, takeoverTimeout)
	defer cancel()
	old := s.node(from).Port()
	for _, v := range vips {
		if !slices.Contains(s.spec.asked, v) {
			continue
		}
		e, err := s.recorder.Wait(ctx, func(e capture.Event) bool {
			return e.Addr == v && e.Port != old && e.At.After(since)
		})
		if err != nil {
			return fmt.Errorf("nobody took over %s from %s: %w: agent logs are in %s", v, from, err, s.dir)
		}
		s.say.Info("%s took over %s after %s", e.Port[len("p-"):], v, millis(e.At.Sub(since)))
	}
	return nil
}

// moved records that exactly the VIPs that a node had have another owner now.
func (s *stage) moved(from string, before, after ownership) {
	had := before.of(from)
	s.count("VIPs of "+from+" owned by others", len(had), len(had)-len(after.of(from)))
	var strays []netip.Addr
	for _, a := range after.moved(before) {
		if before[a].node != from {
			strays = append(strays, a)
		}
	}
	got := "none"
	if len(strays) > 0 {
		got = join(strays)
	}
	s.add("VIPs of other nodes that moved", len(strays) == 0, "none", got)
}

// stopProbes ends the probes and puts what they saw into the result.
func (s *stage) stopProbes() {
	if s.http != nil {
		r := s.http.Stop()
		s.http = nil
		s.note("HTTP: %d requests answered by pods %s; %d failed", r.Answered, tally(r.ByPod), r.Failed)
	}
	if s.tcp != nil {
		r := s.tcp.Stop()
		s.tcp = nil
		s.res.TCPTotal, s.res.TCPAlive, s.res.Resets = r.Total, r.Alive, r.Reset
		s.note("TCP: %d of %d connections alive, %d reset, %d hung: in kube-proxy forwarding the node that translates them is the owner",
			r.Alive, r.Total, r.Reset, r.Hung)
	}
	if s.udp != nil {
		r := s.udp.Stop()
		s.udp = nil
		s.res.GapMs, s.res.UDPSent, s.res.UDPLost = r.Gap.Milliseconds(), r.Sent, r.Lost
		s.say.Info("UDP: %d of %d probes lost, longest silence %s", r.Lost, r.Sent, millis(r.Gap))
	}
}

// silence records that the UDP client's longest silence is bounded.
func (s *stage) silence() {
	s.atMost("silence that the UDP client saw", maxGap, time.Duration(s.res.GapMs)*time.Millisecond)
}

// nothingLost records that every UDP probe was answered.
func (s *stage) nothingLost() { s.count("UDP probes lost", 0, s.res.UDPLost) }

// singleOwner records that no two nodes of one segment answered for a VIP for
// longer than a limit, in what the switch saw and keep selects.
func (s *stage) singleOwner(name string, limit time.Duration, keep func(capture.Event) bool) {
	var longest time.Duration
	for _, d := range capture.Duplicates(s.sightings(keep), tenureWindow) {
		s.note("%s", d)
		longest = max(longest, d.Time)
	}
	s.res.DuplicateOwnerMs = max(s.res.DuplicateOwnerMs, longest.Milliseconds())
	s.atMost(name, limit, longest)
}

// sightings returns the events for VIPs that keep selects; nil selects all.
func (s *stage) sightings(keep func(capture.Event) bool) []capture.Event {
	vips := make(map[netip.Addr]bool)
	for _, a := range allVIPs(s.spec.services) {
		vips[a] = true
	}
	var events []capture.Event
	for _, e := range s.recorder.Events() {
		if vips[e.Addr] && (keep == nil || keep(e)) {
			events = append(events, e)
		}
	}
	return events
}

// sweep asks for every VIP and returns the nodes that answered, by VIP. It asks
// again for those that stay unanswered, until ctx ends.
func (s *stage) sweep(ctx context.Context) map[netip.Addr]string {
	from := time.Now()
	vips := allVIPs(s.spec.services)
	owners := make(map[netip.Addr]string)
	for range 10 {
		for i, v := range vips {
			if owners[v] != "" {
				continue
			}
			// An owner is not to be flooded with 500 questions at a time.
			if i%10 == 9 && !sleep(ctx, 2*time.Millisecond) {
				return owners
			}
			if err := s.askers[0].Ask(v); err != nil {
				s.say.Info("%v", err)
			}
		}
		sleep(ctx, 50*time.Millisecond)
		for v, port := range capture.Owners(s.sightings(nil), from) {
			owners[v] = port[len("p-"):]
		}
		if len(owners) == len(vips) {
			break
		}
	}
	return owners
}

// sameAsSeen records that the switch saw each VIP answered by its owner.
func (s *stage) sameAsSeen(ctx context.Context, owners ownership) {
	seen := s.sweep(ctx)
	wrong := 0
	for a, c := range owners {
		if seen[a] != c.node {
			wrong++
		}
	}
	s.count("VIPs not answered by their owner", 0, wrong)
}

// exit waits for an agent to end by itself, as it should.
func (s *stage) exit(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := s.agents[node].wait(ctx)
	if ctx.Err() != nil {
		return err
	}
	got := "exit status 0"
	if err != nil {
		got = err.Error()
	}
	s.add("agent of "+node+" ends", err == nil, "exit status 0", got)
	return nil
}

// close ends what is left of probes, and the cluster.
func (s *stage) close() error {
	if s.http != nil {
		s.http.Stop()
	}
	if s.tcp != nil {
		s.tcp.Stop()
	}
	if s.udp != nil {
		s.udp.Stop()
	}
	return s.cluster.close()
}

// evidence writes the capture next to the agents' logs and says where it is.
func (s *stage) evidence() error {
	if s.recorder == nil {
		return nil
	}
	path, err := s.writePcap()
	if err != nil {
		return err
	}
	s.say.Fail("look at %s, at the agents' logs %s/n*/agent.log and at the manifests next to them", path, s.dir)
	return nil
}

// tally lists counts by name, "n1-p1 12, n2-p1 13".
func tally(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	var b []byte
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, "%s %d", k, counts[k])
	}
	return string(b)
}

// movedOnce records that the switch saw each VIP move no more often than from
// its old owner to its new one.
func (s *stage) movedOnce(before, after ownership) {
	moves := capture.Moves(s.sightings(nil))
	seen, wanted := 0, 0
	for a := range after {
		seen += moves[a]
		if after[a].node != before[a].node {
			wanted++
		}
	}
	s.count("moves that the switch saw", wanted, seen)
}
