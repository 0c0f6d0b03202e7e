package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// Fate is what became of a long-lived connection.
type Fate uint8

// The fates.
const (
	Alive Fate = iota // it echoes
	Reset             // it was closed or reset by somebody
	Hung              // it neither echoes nor ends
	numFates
)

var fateNames = [numFates]string{Alive: "alive", Reset: "reset", Hung: "hung"}

func (f Fate) String() string { return fateNames[f] }

// TCPReport is how many connections met which fate.
type TCPReport struct {
	Total, Alive, Reset, Hung int
}

const (
	dialTimeout = 3 * time.Second
	// hungAfter is how long the last round trip may take. It is more than two
	// retransmission timeouts after a pause of some 100 ms.
	hungAfter = 1500 * time.Millisecond
)

// TCP keeps connections to an echo service open and busy.
type TCP struct {
	interval time.Duration
	conns    []*tcpConn
	stop     context.CancelFunc
	wg       sync.WaitGroup
	broken   atomic.Int64
}

type tcpConn struct {
	net.Conn
	fate Fate // written by the connection's goroutine
}

// StartTCP opens n connections to the echo service at target; on each a byte
// goes back and forth once per interval.
func StartTCP(ctx context.Context, ns *netns.Namespace, target netip.AddrPort, n int, interval time.Duration) (*TCP, error) {
	run, stop := context.WithCancel(context.Background())
	t := &TCP{interval: interval, stop: stop}
	for i := range n {
		c, err := dial(ctx, ns, target)
		if err != nil {
			t.Stop()
			return nil, fmt.Errorf("open connection %d of %d to %s: %w", i+1, n, target, err)
		}
		tc := &tcpConn{Conn: c}
		t.conns = append(t.conns, tc)
		t.wg.Go(func() { t.exchange(run, tc) })
	}
	return t, nil
}

// Broken returns how many connections have ended so far.
func (t *TCP) Broken() int { return int(t.broken.Load()) }

// Stop asks each connection for one last echo, closes all and reports.
func (t *TCP) Stop() TCPReport {
	t.stop()
	t.wg.Wait()
	r := TCPReport{Total: len(t.conns)}
	for _, c := range t.conns {
		switch c.fate {
		case Alive:
			r.Alive++
		case Reset:
			r.Reset++
		case Hung:
			r.Hung++
		}
	}
	return r
}

// exchange sends and awaits bytes until the connection fails or ctx ends. A
// round trip that is under way when ctx ends gets hungAfter to finish.
func (t *TCP) exchange(ctx context.Context, c *tcpConn) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Now().Add(hungAfter)) })
	defer stop()
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	b := []byte{'.'}
	for last := false; ; {
		_, err := c.Write(b)
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		if err != nil {
			c.fate = fate(err)
			t.broken.Add(1)
			return
		}
		if last {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			last = true
		}
	}
}

// fate tells what an error says about a connection.
func fate(err error) Fate {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.ETIMEDOUT) {
		return Hung
	}
	return Reset
}

// dial opens a TCP connection from inside a namespace.
func dial(ctx context.Context, ns *netns.Namespace, target netip.AddrPort) (c net.Conn, err error) {
	d := net.Dialer{Timeout: dialTimeout}
	d.SetMultipathTCP(false)
	err = ns.Do(func() error {
		c, err = d.DialContext(ctx, "tcp", target.String())
		return err
	})
	return c, err
}
