package pod_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/pod"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

func TestServer(t *testing.T) {
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
	s, err := pod.Serve(n.Namespace(p.Name), p.Name, p.Node)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := pod.Serve(n.Namespace(p.Name), p.Name, p.Node); err == nil {
		t.Error("two pods in one namespace")
	}

	dial := func(network, addr string) (c net.Conn) {
		if err := n.Namespace("n1").Do(func() (err error) {
			c, err = (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), network, addr)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(2 * time.Second))
		return c
	}
	for _, tc := range []struct{ network, addr string }{
		{"tcp", "10.244.1.10:7000"}, {"udp", "10.244.1.10:7000"},
		{"tcp", "[fd00:244:1::10]:7000"}, {"udp", "[fd00:244:1::10]:7000"},
	} {
		c := dial(tc.network, tc.addr)
		io.WriteString(c, "ahoy")
		b := make([]byte, 4)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "ahoy" {
			t.Errorf("%s %s: %q, %v", tc.network, tc.addr, b, err)
		}
		// TCP connections stay open: closing the server must break them.
		defer c.Close()
	}
	web := dial("tcp", "10.244.1.10:8080")
	io.WriteString(web, "GET / HTTP/1.0\r\n\r\n")
	b, err := io.ReadAll(web)
	if err != nil || !strings.Contains(string(b), "pod n1-p1 on node n1, asked by 10.77.0.11:") {
		t.Errorf("HTTP answer %q, %v", b, err)
	}
	web.Close()
}
