package membership

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// nullConn takes everything and says nothing.
type nullConn struct {
	conn
	datagrams int
}

func (c *nullConn) send([]byte) error {
	c.datagrams++
	return nil
}

// A collector that ran because of heartbeats would make them late.
func TestSpeakingAllocatesNothing(t *testing.T) {
	h, err := New(Config{Node: "n1", Key: testKey}, slog.New(slog.DiscardHandler), metrics.NewSet())
	if err != nil {
		t.Fatal(err)
	}
	c := &nullConn{}
	s := newSession(h, Link{Name: "eth0", Index: 2, Addr: netip.MustParseAddr("192.0.2.1"), MTU: 1500}, nil)
	s.conn = c
	beat := claims(500, 1)
	s.speaker.hears([]uint32{1, 2, 3})
	speak := func() {
		s.speaker.publish(beat, false)
		h.Confirm()
		s.speaker.send(time.Now())
	}
	speak()
	if n := testing.AllocsPerRun(100, speak); n != 0 || c.datagrams < 200 {
		t.Errorf("%v allocations per heartbeat, %d datagrams", n, c.datagrams)
	}
}

func TestJitter(t *testing.T) {
	const d = 50 * time.Millisecond
	for range 1000 {
		if j := jitter(d); j < d-d/20 || j >= d+d/20 {
			t.Fatalf("%v for %v", j, d)
		}
	}
}
