package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// answerWait is how long a probe waits for answers after its last question.
const answerWait = 300 * time.Millisecond

// UDP asks an echo service at a steady pace through one connected socket.
type UDP struct {
	conn     net.Conn
	interval time.Duration
	stop     context.CancelFunc
	wg       sync.WaitGroup

	begin, end time.Time // of sending; end is set by the sender
	sent       int       // by the sender

	mu       sync.Mutex
	answered map[uint64]bool
	arrivals []time.Time
}

// StartUDP starts a probe of the echo service at target.
func StartUDP(ns *netns.Namespace, target netip.AddrPort, interval time.Duration) (*UDP, error) {
	u := &UDP{interval: interval, answered: make(map[uint64]bool)}
	err := ns.Do(func() (err error) {
		u.conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(target))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("probe %s over UDP: %w", target, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	u.stop = stop
	u.begin = time.Now()
	u.wg.Go(func() { u.send(ctx) })
	u.wg.Go(u.receive)
	return u, nil
}

// Answered returns how many probes were answered so far.
func (u *UDP) Answered() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.arrivals)
}

// Stop ends the probe, waits for late answers and reports.
func (u *UDP) Stop() UDPReport {
	u.stop()
	u.wg.Wait()
	u.conn.Close()
	return report(u.sent, u.begin, u.end, u.arrivals, u.interval)
}

// send keeps to the pace: after a pause in which the process had no core, it
// sends what it owes, so that lost probes stay a measure of lost time.
func (u *UDP) send(ctx context.Context) {
	t := time.NewTicker(u.interval)
	defer t.Stop()
	b := make([]byte, 8)
	for {
		for due := int(time.Since(u.begin)/u.interval) + 1; u.sent < due; u.sent++ {
			binary.BigEndian.PutUint64(b, uint64(u.sent))
			// An error is an ICMP error in answer to an earlier probe, or no route
			// while the neighbour isn't found: a lost probe.
			u.conn.Write(b)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			u.end = time.Now()
			u.conn.SetReadDeadline(u.end.Add(answerWait))
			return
		}
	}
}

func (u *UDP) receive() {
	b := make([]byte, 64)
	for {
		n, err := u.conn.Read(b)
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			return
		}
		if err != nil || n != 8 {
			continue
		}
		at := time.Now()
		seq := binary.BigEndian.Uint64(b)
		u.mu.Lock()
		if !u.answered[seq] {
			u.answered[seq] = true
			u.arrivals = append(u.arrivals, at)
		}
		u.mu.Unlock()
	}
}
