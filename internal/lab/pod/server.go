package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// The ports that every pod serves.
const (
	HTTPPort = 8080 // answers with the pod, its node and the client's address
	EchoPort = 7000 // TCP and UDP
)

// PodHeader is the header of an HTTP answer that names the pod.
const PodHeader = "Lab-Pod"

// Server is a running pod.
type Server struct {
	name, node string
	http       *http.Server
	tcp        net.Listener
	udp        net.PacketConn
	wg         sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Serve starts a pod's servers in its namespace.
func Serve(ns *netns.Namespace, name, node string) (*Server, error) {
	s := &Server{name: name, node: node, conns: make(map[net.Conn]struct{})}
	var web net.Listener
	err := ns.Do(func() error {
		var errs [3]error
		// Plain TCP: what answers shall not depend on what the kernel makes of MPTCP.
		var lc net.ListenConfig
		lc.SetMultipathTCP(false)
		ctx := context.Background()
		web, errs[0] = lc.Listen(ctx, "tcp", fmt.Sprintf(":%d", HTTPPort))
		s.tcp, errs[1] = lc.Listen(ctx, "tcp", fmt.Sprintf(":%d", EchoPort))
		s.udp, errs[2] = lc.ListenPacket(ctx, "udp", fmt.Sprintf(":%d", EchoPort))
		return errors.Join(errs[:]...)
	})
	if err != nil {
		closeAll(web, s.tcp, s.udp)
		return nil, fmt.Errorf("serve pod %s: %w", name, err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	s.wg.Go(func() { s.http.Serve(web) })
	s.wg.Go(s.acceptEcho)
	s.wg.Go(s.echoUDP)
	return s, nil
}

// Close stops the servers and breaks their connections.
func (s *Server) Close() {
	s.http.Close()
	closeAll(s.tcp, s.udp)
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// ServeHTTP tells who answers and whom it sees.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(PodHeader, s.name)
	fmt.Fprintf(w, "pod %s on node %s, asked by %s\n", s.name, s.node, r.RemoteAddr)
}

func (s *Server) acceptEcho() {
	for {
		c, err := s.tcp.Accept()
		if err != nil {
			return
		}
		if !s.track(c) {
			c.Close()
			return
		}
		s.wg.Go(func() {
			io.Copy(c, c)
			s.untrack(c)
		})
	}
}

func (s *Server) echoUDP() {
	b := make([]byte, 64<<10)
	for {
		n, from, err := s.udp.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Anything else is an ICMP error about a client that is gone.
		if err == nil {
			s.udp.WriteTo(b[:n], from)
		}
	}
}

func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) untrack(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.Close()
}

// closeAll closes those that were opened.
func closeAll(cs ...io.Closer) {
	for _, c := range cs {
		if c != nil {
			c.Close()
		}
	}
}
