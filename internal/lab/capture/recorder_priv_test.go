package capture

import (
	"bytes"
	"context"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

// The nodes' own kernels answer for their own addresses: real answers without
// an agent.
func TestRecordAnswers(t *testing.T) {
	linktest.RequirePrivilege(t)
	defer goleak.VerifyNone(t)
	tp, err := topo.New(topo.Spec{Prefix: labtest.Prefix(t), Nodes: 2, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	n, err := topo.Build(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Remove()
	r, err := Record(n.Switch, []string{"p-n1", "p-n2"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAsker(n.Switch, topo.Bridge, Station{
		lb.MAC{2, 0, 0, 0, 2, 0}, netip.MustParseAddr("10.77.0.254"), netip.MustParseAddr("2001:db8:77::254"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	asking, stop := context.WithCancel(ctx)
	asked := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(asked)
		a.Run(asking, []netip.Addr{n.Nodes[0].Addr4.Addr(), n.Nodes[1].Addr6.Addr()}, 10*time.Millisecond)
	}()
	for _, want := range []Event{
		{Port: "p-n1", Addr: n.Nodes[0].Addr4.Addr()},
		{Port: "p-n2", Addr: n.Nodes[1].Addr6.Addr()},
	} {
		e, err := r.Wait(ctx, func(e Event) bool { return e.Addr == want.Addr })
		if err != nil {
			t.Fatal(err)
		}
		if e.Port != want.Port || e.At.Sub(start).Abs() > 5*time.Second {
			t.Errorf("%+v, want port %s about %s", e, want.Port, start)
		}
	}
	stop()
	<-asked
	gone, cancelGone := context.WithCancel(ctx)
	cancelGone()
	if _, err := r.Wait(gone, func(Event) bool { return false }); err == nil {
		t.Error("waited for nothing and got it")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if d := Duplicates(r.Events(), 100*time.Millisecond); len(d) > 0 {
		t.Errorf("duplicates: %v", d)
	}
	var pcap bytes.Buffer
	if err := r.WritePcap(&pcap); err != nil || pcap.Len() < 24+16+42 {
		t.Errorf("pcap of %d bytes, %v", pcap.Len(), err)
	}
	if c := r.Counts(); c["advertisement"] == 0 || c["foreign"] > 0 {
		t.Errorf("counts %v", c)
	}
}
