package membership

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

// bench is a session that nothing runs, between two real sockets.
func bench(b *testing.B, beat election.Beat) (s *session, far conn) {
	nsA, nsB := linktest.New(b), linktest.New(b)
	linktest.Cable(b, nsA, "eth0", nsB, "eth0")
	nsA.AddAddr(b, "eth0", "192.0.2.1/24")
	nsB.AddAddr(b, "eth0", "192.0.2.2/24")
	h, err := New(Config{Node: "n1", Key: testKey}, slog.New(slog.DiscardHandler), metrics.NewSet())
	if err != nil {
		b.Fatal(err)
	}
	open := func(ns *linktest.NS, addr string) (Link, conn) {
		a := ns.Link(b, "eth0").Attrs()
		l := Link{Name: "eth0", Index: a.Index, Addr: netip.MustParseAddr(addr), MTU: 1500}
		c, err := inside{ns}.open(l, DefaultPort, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.close)
		return l, c
	}
	l, near := open(nsA, "192.0.2.1")
	_, far = open(nsB, "192.0.2.2")
	s = newSession(h, l, nil)
	s.conn = near
	s.speaker.publish(beat, false)
	s.speaker.hears([]uint32{1, 2, 3, 4, 5})
	h.Confirm()
	return s, far
}

// BenchmarkSend is one heartbeat sent, system calls and the way to the other
// end of the cable included.
func BenchmarkSend(b *testing.B) {
	for _, c := range []struct {
		name   string
		claims int
	}{{"100", 100}, {"500", 500}} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := bench(b, claims(c.claims, 1))
			b.ReportAllocs()
			for b.Loop() {
				s.h.Confirm()
				s.speaker.send(time.Now())
			}
			if err := s.speaker.trouble(); err != "" {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkReceive is one heartbeat heard, from the system call to the event.
// At 5 peers and 20 heartbeats per second there are 100 of them per second.
func BenchmarkReceive(b *testing.B) {
	for _, c := range []struct {
		name   string
		claims int
	}{{"100", 100}, {"500", 500}} {
		b.Run(c.name, func(b *testing.B) {
			s, far := bench(b, claims(c.claims, 1))
			peer, err := New(Config{Node: "n2", Key: testKey}, slog.New(slog.DiscardHandler), metrics.NewSet())
			if err != nil {
				b.Fatal(err)
			}
			p := newSession(peer, s.link, nil)
			p.conn = far
			p.speaker.publish(claims(c.claims, 1), false)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				peer.Confirm()
				p.speaker.send(time.Now())
				b.StartTimer()
				if err := s.drain(s.conn); err != nil {
					b.Fatal(err)
				}
				for len(s.h.queue.out) > 0 {
					<-s.h.queue.out
				}
			}
			if len(s.roster.peers()) != 1 {
				b.Fatal("the peer isn't heard")
			}
		})
	}
}

// BenchmarkRubbish is one datagram that isn't for us, for each reason.
func BenchmarkRubbish(b *testing.B) {
	foreign := newSigner([]byte("another key"))
	forged := newSigner(testKey)
	datagram := func(s *signer) []byte {
		m := message{authentic: true, keyID: s.id, node: "n2", instance: 1, parts: 1, beat: claims(100, 1)}
		d := m.append(nil)
		return s.sum(d, d)
	}
	bad := datagram(forged)
	bad[len(bad)-1] ^= 1
	for _, c := range []struct {
		name string
		b    []byte
	}{{"malformed", make([]byte, 1400)}, {"foreign_key", datagram(foreign)}, {"bad_mac", bad}} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := bench(b, election.Beat{})
			b.ReportAllocs()
			for b.Loop() {
				s.take(c.b, arrival{hops: gtsm})
			}
		})
	}
}
