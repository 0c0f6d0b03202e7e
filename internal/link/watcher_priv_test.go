package link

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a namespace with a Watcher inside.
type watched struct {
	*linktest.NS
	w *Watcher
}

func watch(t *testing.T) *watched {
	t.Helper()
	x := &watched{NS: linktest.New(t), w: NewWatcher(slog.New(slog.DiscardHandler))}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go x.Do(func() { done <- x.w.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	x.await(t, "the first state", func(s State) bool { return len(s.Interfaces) > 0 })
	return x
}

// await waits for an update that satisfies ok, and says how long it took.
func (x *watched) await(t *testing.T, what string, ok func(State) bool) time.Duration {
	t.Helper()
	begun := time.Now()
	deadline := time.After(5 * time.Second)
	for {
		select {
		case s := <-x.w.Updates():
			if ok(s) {
				return time.Since(begun)
			}
		case <-deadline:
			t.Fatalf("no update tells of %s; the state is %+v", what, x.w.Current())
		}
	}
}

func usableIs(name string, want bool) func(State) bool {
	return func(s State) bool {
		i, ok := s.ByName(name)
		return ok && i.Usable() == want
	}
}

func hasAddr(name, addr string, want bool) func(State) bool {
	return func(s State) bool {
		i, _ := s.ByName(name)
		return i.Has(netip.MustParseAddr(addr)) == want
	}
}

func TestWatcherFollowsTheKernel(t *testing.T) {
	x := watch(t)
	far := linktest.New(t)
	linktest.Cable(t, x.NS, "eth0", far, "far0")
	x.await(t, "eth0 up", usableIs("eth0", true))

	x.Down(t, "eth0")
	x.await(t, "eth0 down", usableIs("eth0", false))
	x.Up(t, "eth0")
	x.await(t, "eth0 up again", usableIs("eth0", true))

	far.Down(t, "far0")
	took := x.await(t, "the carrier's loss", usableIs("eth0", false))
	if took > 500*time.Millisecond {
		t.Errorf("the carrier's loss was seen after %v", took)
	}
	if i, _ := x.w.Current().ByName("eth0"); !i.Up || i.Carrier {
		t.Errorf("without carrier eth0 is %+v, want up without carrier", i)
	}
	far.Up(t, "far0")
	x.await(t, "the carrier's return", usableIs("eth0", true))

	x.AddAddr(t, "eth0", "10.0.0.1/24")
	x.await(t, "an IPv4 address", hasAddr("eth0", "10.0.0.1", true))
	x.AddAddr(t, "eth0", "fd00::1/64")
	x.await(t, "an IPv6 address", hasAddr("eth0", "fd00::1", true))
	x.DelAddr(t, "eth0", "10.0.0.1/24")
	x.await(t, "the IPv4 address gone", hasAddr("eth0", "10.0.0.1", false))

	mac := lb.MAC{2, 0, 0, 0, 0xca, 0xfe}
	if err := x.Netlink.LinkSetHardwareAddr(x.Link(t, "eth0"), net.HardwareAddr(mac[:])); err != nil {
		t.Fatal(err)
	}
	x.await(t, "the new MAC", func(s State) bool { i, _ := s.ByName("eth0"); return i.MAC == mac })

	if err := x.Netlink.LinkSetName(x.Link(t, "eth0"), "lan0"); err != nil {
		t.Fatal(err)
	}
	x.await(t, "the new name", func(s State) bool {
		_, old := s.ByName("eth0")
		i, ok := s.ByName("lan0")
		return ok && !old && i.MAC == mac && i.Has(netip.MustParseAddr("fd00::1"))
	})
	index := x.Link(t, "lan0").Attrs().Index

	x.Delete(t, "lan0")
	x.await(t, "the deletion", func(s State) bool { _, ok := s.ByName("lan0"); return !ok })
	linktest.Cable(t, x.NS, "lan0", far, "far0")
	x.await(t, "its return as another", func(s State) bool {
		i, ok := s.ByName("lan0")
		return ok && i.Usable() && i.Index != index && !i.Has(netip.MustParseAddr("fd00::1"))
	})
	x.agreesWithDump(t)
}

// A port that leaves its bridge is still there.
func TestWatcherBridgePort(t *testing.T) {
	x := watch(t)
	far := linktest.New(t)
	linktest.Cable(t, x.NS, "eth0", far, "far0")
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "br0"
	if err := x.Netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		t.Fatal(err)
	}
	if err := x.Netlink.LinkSetMaster(x.Link(t, "eth0"), x.Link(t, "br0")); err != nil {
		t.Fatal(err)
	}
	x.await(t, "the enslaving", func(s State) bool { i, _ := s.ByName("eth0"); return i.Master != 0 })
	if err := x.Netlink.LinkSetNoMaster(x.Link(t, "eth0")); err != nil {
		t.Fatal(err)
	}
	x.await(t, "the release", func(s State) bool { i, ok := s.ByName("eth0"); return ok && i.Master == 0 && i.Usable() })
	x.agreesWithDump(t)
}

// An address is not usable while duplicate address detection runs, and an
// update comes when it is over.
func TestWatcherTentativeAddress(t *testing.T) {
	x := watch(t)
	far := linktest.New(t)
	x.Do(func() {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("1"), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/all/accept_dad", []byte("1"), 0o644); err != nil {
			t.Error(err)
		}
	})
	linktest.Cable(t, x.NS, "eth0", far, "far0")
	x.await(t, "eth0 up", usableIs("eth0", true))
	x.AddAddr(t, "eth0", "fd00::1/64")
	x.AddAddr(t, "eth0", "10.0.0.1/24") // an event that comes after the tentative one
	x.await(t, "the IPv4 address", hasAddr("eth0", "10.0.0.1", true))
	if hasAddr("eth0", "fd00::1", true)(x.w.Current()) {
		t.Error("a tentative address is listed")
	}
	x.await(t, "the end of the detection", hasAddr("eth0", "fd00::1", true))
}

// agreesWithDump compares what came of the events with the kernel's own list.
func (x *watched) agreesWithDump(t *testing.T) {
	t.Helper()
	var want State
	deadline := time.Now().Add(5 * time.Second)
	for {
		var dump *table
		var err error
		x.Do(func() { dump, err = rtnetlink{}.dump() })
		if err != nil {
			t.Fatal(err)
		}
		want = dump.state()
		if want.Equal(x.w.Current()) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("events and dump disagree (-dump +events):\n%s", cmp.Diff(want, x.w.Current(),
				cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })))
		}
	}
}
