package topo

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

func build(t *testing.T, nodes, pods int) *Network {
	t.Helper()
	linktest.RequirePrivilege(t)
	tp, err := New(Spec{Prefix: labtest.Prefix(t), Nodes: nodes, PodsPerNode: pods, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Build(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// exchange sends a word over TCP from one namespace to an address in another.
func exchange(t *testing.T, n *Network, from, to string, addr netip.AddrPort) error {
	t.Helper()
	var l net.Listener
	err := n.Namespace(to).Do(func() (err error) {
		l, err = net.Listen("tcp", addr.String())
		return err
	})
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "ahoy")
			c.Close()
		}
	}()
	var c net.Conn
	err = n.Namespace(from).Do(func() (err error) {
		c, err = net.DialTimeout("tcp", addr.String(), 3*time.Second)
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	b, err := io.ReadAll(c)
	if err == nil && string(b) != "ahoy" {
		err = errors.New("got " + string(b))
	}
	return err
}

func TestEverybodyReachesEverybody(t *testing.T) {
	n := build(t, 2, 1)
	pod1, pod2 := n.Pods[0], n.Pods[1]
	for _, tc := range []struct {
		from, to string
		addr     netip.Addr
	}{
		{"cl", "n1", n.Nodes[0].Addr4.Addr()},
		{"cl", "n2", n.Nodes[1].Addr6.Addr()},
		{"n1", pod1.Name, pod1.Addr4},
		{"n2", pod1.Name, pod1.Addr4},
		{"n2", pod1.Name, pod1.Addr6},
		{pod1.Name, pod2.Name, pod2.Addr4},
		{pod1.Name, pod2.Name, pod2.Addr6},
	} {
		if err := exchange(t, n, tc.from, tc.to, netip.AddrPortFrom(tc.addr, 7000)); err != nil {
			t.Errorf("%s to %s at %s: %v", tc.from, tc.to, tc.addr, err)
		}
	}
}

func carrier(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	h, err := ns.Netlink()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l, err := h.LinkByName("eth0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Attrs().OperState.String()
}

func TestUnplugAndMove(t *testing.T) {
	n := build(t, 2, 0)
	n1, n2 := n.Nodes[0], n.Nodes[1]
	at2 := netip.AddrPortFrom(n2.Addr4.Addr(), 7000)

	if err := n.Unplug(n2); err != nil {
		t.Fatal(err)
	}
	if got := carrier(t, n.Namespace("n2")); got == "up" {
		t.Errorf("n2 has carrier without a cable: %s", got)
	}
	if err := n.Plug(n2); err != nil {
		t.Fatal(err)
	}
	if err := exchange(t, n, "n1", "n2", at2); err != nil {
		t.Errorf("after plugging in: %v", err)
	}

	if err := n.Move(OtherBridge, n1, n2); err != nil {
		t.Fatal(err)
	}
	if err := exchange(t, n, "n1", "n2", at2); err != nil {
		t.Errorf("both on the other bridge: %v", err)
	}
	if err := n.Move(Bridge, n1); err != nil {
		t.Fatal(err)
	}
	if got := carrier(t, n.Namespace("n2")); got != "up" {
		t.Errorf("a split segment must leave carrier, got %s", got)
	}
	if err := n.Move(Bridge, n2); err != nil {
		t.Fatal(err)
	}
	if err := exchange(t, n, "n1", "n2", at2); err != nil {
		t.Errorf("after healing: %v", err)
	}
}

func TestOpenFindsWhatStands(t *testing.T) {
	n := build(t, 1, 1)
	again, err := Open(n.Topology)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Namespace("n1-p1").Do(func() error {
		_, err := net.InterfaceByName("eth0")
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestBuildFailureLeavesNothing(t *testing.T) {
	linktest.RequirePrivilege(t)
	prefix := labtest.Prefix(t)
	tp, err := New(Spec{Prefix: prefix, Nodes: 3, PodsPerNode: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	// Fails late in the building.
	tp.Pods[2].veth = "a name that no interface can have"
	if _, err := Build(t.Context(), tp); err == nil {
		t.Fatal("built")
	} else if !strings.Contains(err.Error(), "n3-p1") {
		t.Errorf("the error doesn't name the pod: %v", err)
	}
	left, err := netns.List(prefix)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, tp); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled build: %v", err)
	}
}

func TestBuildRefusesAnothersNamespace(t *testing.T) {
	linktest.RequirePrivilege(t)
	prefix := labtest.Prefix(t)
	ns, err := netns.Create(prefix + "-n1")
	if err != nil {
		t.Fatal(err)
	}
	defer netns.Delete(ns.Name())
	defer ns.Close()
	tp, err := New(Spec{Prefix: prefix, Nodes: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), tp); !errors.Is(err, os.ErrExist) {
		t.Errorf("want ErrExist, got %v", err)
	}
	left, err := netns.List(prefix)
	if err != nil || len(left) != 1 {
		t.Errorf("the other's namespace must stay, and only it: %v, %v", left, err)
	}
}
