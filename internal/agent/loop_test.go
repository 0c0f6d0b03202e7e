package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/announce"
	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link"
)

const vip = "10.77.0.200"

func TestListensThenClaims(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(140 * time.Millisecond)
		w.expect()
		w.after(60 * time.Millisecond)
		w.expect(vip)
		if e := w.network.Desired().Links[0].Entries[0]; !e.Probe {
			t.Error("the first owner ever does not probe for strangers")
		}
		if b := w.members.beat("eth0"); len(b.Claims) != 1 || b.Claims[0].Addr != addr(vip) {
			t.Errorf("heartbeats say %+v", b)
		}
		if got := w.vip(vip); got.State != "owner" || got.Owner != "n1" || got.MAC != eth0.MAC.String() || got.Interface != "eth0" || got.Epoch == 0 {
			t.Errorf("status %+v", got)
		}
	})
}

func TestFollowsTheOwner(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		for range 10 {
			w.says("n2", election.Claim{Addr: addr(vip), Epoch: 7e9})
			w.after(50 * time.Millisecond)
		}
		w.expect()
		if got := w.vip(vip); got.State != "standby" || got.Owner != "n2" || got.Epoch != 7e9 || got.MAC != "02:00:00:00:00:12" {
			t.Errorf("status %+v", got)
		}
		w.falls("n2")
		w.after(time.Millisecond)
		w.expect(vip)
		if e := w.network.Desired().Links[0].Entries[0]; e.Probe {
			t.Error("a takeover waits for a probe")
		}
		if len(w.network.Desired().Links[0].Members) != 2 {
			t.Error("the dead member's MAC would be a stranger's")
		}
		if got := w.vip(vip); got.Owner != "n1" || got.Epoch != 7e9+1 {
			t.Errorf("status %+v", got)
		}
	})
}

func TestFenceFollowsTheLoop(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot()
		w.after(time.Second)
		if left := time.Until(w.network.Fence()); left <= 0 || left > w.members.DeadTime() {
			t.Errorf("the fence opens for %v", left)
		}
		// A loop that is busy elsewhere lets it run out, and says so.
		block := make(chan struct{})
		go w.inLoop(context.Background(), func() { <-block })
		w.after(200 * time.Millisecond)
		if left := time.Until(w.network.Fence()); left > 0 {
			t.Errorf("the loop hangs and the fence is open for %v", left)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.healthy(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("healthy says %v", err)
		}
		close(block)
		w.after(time.Millisecond)
		if err := w.healthy(context.Background()); err != nil {
			t.Errorf("healthy says %v", err)
		}
	})
}

func TestLinkDownReleasesAndReturnListens(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(time.Second)
		w.expect(vip)
		down := eth0
		down.Carrier = false
		w.links.Set(link.State{Interfaces: []link.Interface{down}})
		w.after(time.Millisecond)
		w.expect()
		if len(w.members.links) != 0 {
			t.Error("heartbeats go on without carrier")
		}
		if err := w.ready(context.Background()); err == nil {
			t.Error("ready without carrier")
		}
		w.links.Set(link.State{Interfaces: []link.Interface{eth0}})
		w.after(100 * time.Millisecond)
		w.expect()
		w.after(100 * time.Millisecond)
		w.expect(vip)
	})
}

func TestDrainHandsOver(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(time.Second)
		w.says("n2")
		close(w.stop)
		w.after(10 * time.Millisecond)
		w.expect(vip) // make before break
		b := w.members.beat("eth0")
		if len(b.Handovers) != 1 || b.Handovers[0].To != "n2" {
			t.Fatalf("heartbeats say %+v", b)
		}
		w.says("n2", election.Claim{Addr: addr(vip), Epoch: b.Handovers[0].Epoch})
		w.after(time.Millisecond)
		w.expect()
		select {
		case err := <-w.done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("nothing left to hand over, and the agent goes on")
		}
	})
}

func TestDrainOfTheLastNodeEndsAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(time.Second)
		close(w.stop)
		w.after(10 * time.Millisecond)
		select {
		case <-w.done:
		default:
			t.Error("an agent that nobody can relieve does not end")
		}
	})
}

func TestNotReadyBeyondTheGraceHandsOver(t *testing.T) {
	inWorld(t, func(w *world) {
		snap := snapshot(service("web", vip, false, "n1"))
		w.source.updates <- snap
		w.after(time.Second)
		bad := *snap
		bad.Nodes = append([]lb.Node(nil), snap.Nodes...)
		bad.Nodes[0].NotReady = true
		w.source.updates <- &bad
		for range int((NotReadyGrace - time.Second) / (50 * time.Millisecond)) {
			w.says("n2")
			w.after(50 * time.Millisecond)
		}
		if b := w.members.beat("eth0"); len(b.Handovers) != 0 {
			t.Errorf("handed over within the grace: %+v", b)
		}
		for range 30 {
			w.says("n2")
			w.after(50 * time.Millisecond)
			if b := w.members.beat("eth0"); len(b.Handovers) == 1 && b.Handovers[0].To == "n2" {
				return
			}
		}
		t.Error("never handed over")
	})
}

func TestStatusTellsWhy(t *testing.T) {
	inWorld(t, func(w *world) {
		if err := w.ready(context.Background()); err == nil {
			t.Error("ready without manifests")
		}
		w.source.fail(errors.New("web.yaml:3: spec.ports[0].port: not a number"))
		snap := snapshot(service("web", vip, false, "n1"), service("own", "10.77.0.11", false), service("cast", "10.77.0.255", false))
		snap.Problems = []lb.Problem{{
			Kind: lb.AddressOutsidePools, Object: "Service default/x", Field: "metadata.annotations", Addr: addr("10.99.0.1"), Message: "in no pool",
		}}
		w.source.updates <- snap
		w.after(time.Second)

		if got := w.vip("10.99.0.1"); got.State != "refused" || !strings.HasPrefix(got.Reason, "address_outside_pools") {
			t.Errorf("outside of pools: %+v", got)
		}
		if got := w.vip("10.77.0.11"); got.State != "refused" || !strings.HasPrefix(got.Reason, "address_is_node") {
			t.Errorf("own address: %+v", got)
		}
		if got := w.vip("10.77.0.255"); got.State != "refused" || !strings.HasPrefix(got.Reason, "address_not_unicast") {
			t.Errorf("broadcast: %+v", got)
		}
		w.expect(vip)

		w.network.Report(announce.Status{Interface: "eth0", Addr: addr(vip), State: announce.Conflict, Stranger: lb.MAC{2, 0, 0, 0, 0, 0x66}})
		w.after(time.Millisecond)
		if got := w.vip(vip); got.State != "conflict" || got.Reason != "address in use by 02:00:00:00:00:66" {
			t.Errorf("conflict: %+v", got)
		}
		st, err := w.state(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if s := st.(Status); s.SourceError == "" || s.Members[0].Reason != "hears_nobody" || len(s.Problems) != 3 {
			t.Errorf("status %+v", s)
		}
		if err := w.ready(context.Background()); err != nil {
			t.Errorf("not ready: %v", err)
		}
	})
}

func TestOrphanTellsWhy(t *testing.T) {
	inWorld(t, func(w *world) {
		snap := snapshot(service("web", vip, false))
		for i := range snap.Nodes {
			snap.Nodes[i].Excluded = true
		}
		w.source.updates <- snap
		w.after(time.Second)
		w.expect()
		if got := w.vip(vip); got.State != "orphan" || !strings.Contains(got.Reason, "n1 excluded_by_label") {
			t.Errorf("status %+v", got)
		}
	})
}

func TestRemovedServiceLeavesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(time.Second)
		w.source.updates <- snapshot()
		w.after(time.Second)
		w.expect()
		st, err := w.state(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if s := st.(Status); len(s.VIPs) != 0 || len(s.Services) != 0 {
			t.Errorf("status %+v", s)
		}
		if b := w.members.beat("eth0"); len(b.Claims) != 0 {
			t.Errorf("heartbeats say %+v", b)
		}
	})
}

func TestUnknownInterface(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Interfaces = []string{"eth7"}
		w.source.updates <- snapshot(service("web", vip, false, "n1"))
		w.after(time.Second)
		w.expect()
		if got := w.vip(vip); got.State != "refused" || got.Reason != "no interface to announce on" {
			t.Errorf("status %+v", got)
		}
		if !strings.Contains(w.log.String(), "eth7") {
			t.Errorf("the log does not name the interface:\n%s", w.log)
		}
		late := eth0
		late.Name, late.Index = "eth7", 9
		w.links.Set(link.State{Interfaces: []link.Interface{eth0, late}})
		w.after(time.Second)
		w.expect(vip)
	})
}

func TestForgetsTheLongDead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot()
		w.says("n2")
		w.falls("n2")
		w.after(time.Second)
		rows := func() int {
			st, err := w.state(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return len(st.(Status).Members)
		}
		if n := rows(); n != 2 {
			t.Errorf("%d members after a loss, want 2", n)
		}
		w.after(rememberPeer + time.Second)
		if n := rows(); n != 1 {
			t.Errorf("%d members long after it, want 1", n)
		}
		if n := len(w.network.Desired().Links[0].Members); n != 1 {
			t.Errorf("%d MACs are members', want 1", n)
		}
	})
}

// An owner that nobody can hear hands over; the last one keeps the address.
func TestTroubleHandsOver(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.updates <- snapshot(service("web", vip, false, "n1"), service("web6", "2001:db8:77::200", false))
		w.after(time.Second)
		if h := w.network.Desired().Links[0].Hold; h != [announce.Families]bool{true, true} {
			t.Errorf("sockets held: %v", h)
		}
		w.network.Ail(announce.NDP, "ipv6 is disabled")
		w.after(time.Second)
		w.expect(vip, "2001:db8:77::200")
		for range 20 {
			w.says("n2")
			w.after(50 * time.Millisecond)
			if b := w.members.beat("eth0"); len(b.Handovers) == 1 && b.Handovers[0].Addr == addr("2001:db8:77::200") {
				return
			}
		}
		t.Error("never handed over")
	})
}

// A segment that is no longer the node's is silent at once, also when it was
// the last one.
func TestLostSegmentIsSilent(t *testing.T) {
	inWorld(t, func(w *world) {
		snap := snapshot(service("web", vip, false, "n1"))
		w.source.updates <- snap
		w.after(time.Second)
		w.expect(vip)
		gone := *snap
		gone.Nodes = snap.Nodes[1:]
		w.source.updates <- &gone
		w.after(time.Millisecond)
		w.expect()
		if len(w.members.links) != 0 {
			t.Error("heartbeats go on")
		}
	})
}

func TestForwardingThatIsNotThere(t *testing.T) {
	inWorld(t, func(w *world) {
		svc := service("web", vip, false, "n1")
		svc.Forwarding = lb.ForwardingDSR
		w.source.updates <- snapshot(svc)
		w.after(time.Second)
		w.expect(vip)
		st, err := w.state(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s := st.(Status)
		if s.Services[0].Forwarding != "kube-proxy" || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "dsr is not available") {
			t.Errorf("services %+v, problems %v", s.Services, s.Problems)
		}
	})
}
