package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

// retryListen is the pause between attempts to listen.
const retryListen = 5 * time.Second

// Server serves a handler on one address until its context is done. An
// address that can't be had is no reason for an agent to stop announcing: it
// is logged once and tried again.
type Server struct {
	network, addr string
	handler       http.Handler
	log           *slog.Logger
}

// NewServer returns a server for network "tcp" or "unix". A unix socket left
// behind by a dead process is replaced: whoever serves it must hold the lock
// of its directory.
func NewServer(network, addr string, h http.Handler, log *slog.Logger) *Server {
	return &Server{network: network, addr: addr, handler: h, log: log.With("listen", addr)}
}

// Run implements the agent's Task.
func (s *Server) Run(ctx context.Context) error {
	failing := false
	for {
		l, err := s.listen(ctx)
		switch {
		case err == nil:
			if failing {
				s.log.Info("listening again")
			}
			return s.serve(ctx, l)
		case s.network == "unix":
			return err
		case !failing:
			failing = true
			s.log.Warn("cannot serve metrics and health there, trying again", "err", err, "every", retryListen)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryListen):
		}
	}
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	if s.network == "unix" {
		if err := os.Remove(s.addr); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("replace socket: %w", err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, s.network, s.addr)
	if err != nil {
		return nil, err
	}
	if s.network == "unix" {
		if err := os.Chmod(s.addr, 0o600); err != nil {
			l.Close()
			return nil, fmt.Errorf("restrict socket: %w", err)
		}
	}
	return l, nil
}

func (s *Server) serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.addr, err)
	}
	return nil
}
