package ops

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func view(err error) View {
	return View{
		State:   func(context.Context) (any, error) { return map[string]string{"node": "n1"}, err },
		Healthy: func(context.Context) error { return err },
		Ready:   func(context.Context) error { return err },
		Metrics: prometheus.NewPedanticRegistry(),
	}
}

func TestHandler(t *testing.T) {
	for _, tc := range []struct {
		name, path, body string
		err              error
		code             int
	}{
		{"healthy", "/healthz", "ok\n", nil, 200},
		{"ready", "/readyz", "ok\n", nil, 200},
		{"state", StatePath, "{\n  \"node\": \"n1\"\n}\n", nil, 200},
		{"metrics", "/metrics", "", nil, 200},
		{"hung", "/healthz", "loop is stuck\n", errors.New("loop is stuck"), 503},
		{"not ready", "/readyz", "loop is stuck\n", errors.New("loop is stuck"), 503},
		{"no state", StatePath, "loop is stuck\n", errors.New("loop is stuck"), 503},
		{"unknown", "/nothing", "404 page not found\n", nil, 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Handler(view(tc.err)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil))
			if w.Code != tc.code || w.Body.String() != tc.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body.String(), tc.code, tc.body)
			}
		})
	}
}

// serveUnix runs a server on a socket until the test ends and waits until it
// answers.
func serveUnix(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- NewServer("unix", path, Handler(view(nil)), slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	deadline := time.Now().Add(5 * time.Second)
	for {
		var got map[string]string
		err := FetchState(ctx, path, &got)
		if err == nil && got["node"] == "n1" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer: %v", err)
		}
	}
}

func TestFetchState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	var got map[string]string
	if err := FetchState(t.Context(), path, &got); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a server: %v, want ErrNotRunning", err)
	}
	serveUnix(t, path)
}

// A socket file whose server was killed is answered by nobody, and is replaced
// by the next one.
func TestServerReplacesDeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	ctx, cancel := context.WithCancel(t.Context())
	l, err := NewServer("unix", path, nil, slog.New(slog.DiscardHandler)).listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	l.Close()
	cancel()
	var got map[string]string
	if err := FetchState(t.Context(), path, &got); !errors.Is(err, ErrNotRunning) {
		t.Errorf("dead socket: %v, want ErrNotRunning", err)
	}
	serveUnix(t, path)
}

// An address that is taken is reported once and doesn't end the task.
func TestServerSurvivesTakenAddress(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	addr := strings.TrimPrefix(taken.URL, "http://")
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- NewServer("tcp", addr, nil, slog.New(slog.NewTextHandler(w, nil))).Run(ctx)
	}()
	line := make([]byte, 4096)
	n, err := r.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), addr) {
		t.Errorf("log %q %v, want a line that names %s", line[:n], err, addr)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
