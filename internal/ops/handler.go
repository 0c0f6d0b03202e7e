package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// StatePath is where the handler serves the state as JSON.
const StatePath = "/debug/state"

// answerTimeout bounds how long a request waits for the owner of the state: a
// hung agent must answer "hung", not hang its scraper too.
const answerTimeout = 2 * time.Second

// View is what the handler asks of the process that it speaks for. Every
// function is called concurrently.
type View struct {
	State   func(context.Context) (any, error) // encoded as JSON
	Healthy func(context.Context) error        // nil: the process does its work
	Ready   func(context.Context) error        // nil: it can take part
	Metrics prometheus.Gatherer
}

// Handler serves v.
func Handler(v View) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(v.Metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", check(v.Healthy))
	mux.HandleFunc("GET /readyz", check(v.Ready))
	mux.HandleFunc("GET "+StatePath, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		state, err := v.State(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		body, err := json.MarshalIndent(state, "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error here is the reader's going away: nobody is left to tell.
		_, _ = w.Write(append(body, '\n'))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// check answers 200 "ok", or 503 with the reason.
func check(f func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		if err := f(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}
}
