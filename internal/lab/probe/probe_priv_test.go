package probe_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/pod"
	"github.com/fairlead-lb/fairlead/internal/lab/probe"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

// eventually polls until ok, for at most five seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within 5 s", what)
		}
	}
}

// The probes watch a pod directly, without a VIP; the pod is taken away and
// put back.
func TestProbesSeeAnOutage(t *testing.T) {
	linktest.RequirePrivilege(t)
	defer goleak.VerifyNone(t)
	tp, err := topo.New(topo.Spec{Prefix: labtest.Prefix(t), Nodes: 1, PodsPerNode: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	n, err := topo.Build(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Remove()
	p := n.Pods[0]
	start := func() *pod.Server {
		s, err := pod.Serve(n.Namespace(p.Name), p.Name, p.Node)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	server := start()
	client := n.Namespace("n1")
	echo, web := netip.AddrPortFrom(p.Addr4, pod.EchoPort), netip.AddrPortFrom(p.Addr6, pod.HTTPPort)

	udp, err := probe.StartUDP(client, echo, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	requests := probe.StartHTTP(client, []netip.AddrPort{web}, pod.PodHeader, 10*time.Millisecond)
	tcp, err := probe.StartTCP(t.Context(), client, echo, 5, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "answers", func() bool { return udp.Answered() > 5 && requests.Report().ByPod[p.Name] > 5 })

	server.Close()
	eventually(t, "broken connections and requests", func() bool { return tcp.Broken() == 5 && requests.Report().Failed > 0 })
	before := udp.Answered()
	server = start()
	defer server.Close()
	eventually(t, "answers again", func() bool { return udp.Answered() > before+5 })
	again, err := probe.StartTCP(t.Context(), client, echo, 3, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}

	if r := udp.Stop(); r.Lost == 0 || r.Gap == 0 || r.Sent < before {
		t.Errorf("UDP: %+v", r)
	}
	if r := tcp.Stop(); r != (probe.TCPReport{Total: 5, Reset: 5}) {
		t.Errorf("connections through the outage: %+v", r)
	}
	if r := again.Stop(); r != (probe.TCPReport{Total: 3, Alive: 3}) {
		t.Errorf("connections after the outage: %+v", r)
	}
	if r := requests.Stop(); r.Failed == 0 || r.LastErr == nil || r.ByPod[p.Name] != r.Answered {
		t.Errorf("HTTP: %+v", r)
	}
}

// A peer that takes bytes and never answers makes a hung connection.
func TestHungConnection(t *testing.T) {
	linktest.RequirePrivilege(t)
	tp, err := topo.New(topo.Spec{Prefix: labtest.Prefix(t), Nodes: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	n, err := topo.Build(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Remove()
	var l net.Listener
	if err := n.Namespace("n1").Do(func() (err error) {
		l, err = net.Listen("tcp", ":7000")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tcp, err := probe.StartTCP(t.Context(), n.Namespace("cl"), netip.AddrPortFrom(n.Nodes[0].Addr4.Addr(), 7000), 2, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r := tcp.Stop(); r != (probe.TCPReport{Total: 2, Hung: 2}) {
		t.Errorf("%+v", r)
	}
}
