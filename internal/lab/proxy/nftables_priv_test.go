package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/lab/proxy"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

// TestHTTPThroughVIP sends real requests to VIPs that nobody announces: the
// client's neighbour entries are made by hand.
func TestHTTPThroughVIP(t *testing.T) {
	linktest.RequirePrivilege(t)
	tp, err := topo.New(topo.Spec{Prefix: labtest.Prefix(t), Nodes: 2, PodsPerNode: 1, Bits4: 24})
	if err != nil {
		t.Fatal(err)
	}
	n, err := topo.Build(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})

	vips := []netip.Addr{netip.MustParseAddr("10.77.0.200"), netip.MustParseAddr("2001:db8:77::200")}
	var frontends []proxy.Frontend
	for _, v := range vips {
		f := proxy.Frontend{Addr: netip.AddrPortFrom(v, 80), Protocol: lb.TCP}
		for _, p := range n.Pods {
			f.Endpoints = append(f.Endpoints, netip.AddrPortFrom(p.Addr4, 8080), netip.AddrPortFrom(p.Addr6, 8080))
		}
		frontends = append(frontends, f)
	}
	for _, p := range n.Pods {
		serve(t, n.Namespace(p.Name), p.Name)
	}
	for _, node := range n.Nodes {
		// Twice: the second replaces the first.
		for range 2 {
			if err := proxy.Apply(n.Namespace(node.Name), frontends); err != nil {
				t.Fatal(err)
			}
		}
	}
	client := n.Namespace("cl")
	for _, v := range vips {
		neighbour(t, client, v, n.Nodes[0].MAC)
		answers := make(map[string]int)
		for range 30 {
			body, err := get(client, v)
			if err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			answers[body]++
		}
		// 30 times the same of two has the odds of 1 to 2^29.
		if answers["n1-p1"] == 0 || answers["n2-p1"] == 0 {
			t.Errorf("%s: answers %v, want both pods", v, answers)
		}
	}

	if err := proxy.Apply(n.Namespace("n1"), nil); err != nil {
		t.Fatal(err)
	}
	if body, err := get(client, vips[0]); err == nil {
		t.Errorf("served by %s with nothing to serve", body)
	}
}

func serve(t *testing.T, ns *netns.Namespace, name string) {
	t.Helper()
	var l net.Listener
	if err := ns.Do(func() (err error) {
		l, err = net.Listen("tcp", ":8080")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(l)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
}

func get(ns *netns.Namespace, vip netip.Addr) (string, error) {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = ns.Do(func() error {
			c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return err
		})
		return c, err
	}}
	resp, err := (&http.Client{Transport: tr, Timeout: time.Second}).Get("http://" + netip.AddrPortFrom(vip, 80).String() + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func neighbour(t *testing.T, ns *netns.Namespace, addr netip.Addr, mac lb.MAC) {
	t.Helper()
	h, err := ns.Netlink()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	link, err := h.LinkByName("eth0")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.NeighAdd(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: mac[:],
	}); err != nil {
		t.Fatal(err)
	}
}
