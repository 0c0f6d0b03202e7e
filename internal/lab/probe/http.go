package probe

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// requestTimeout is how long an HTTP request may take before it has failed.
const requestTimeout = 2 * time.Second

// maxRequests bounds how many requests are under way at once.
const maxRequests = 64

// HTTPReport is who answered how many requests.
type HTTPReport struct {
	Answered int
	Failed   int
	ByPod    map[string]int
	LastErr  error // of a failed request
}

// HTTP sends requests at a steady pace, each on a connection of its own, to
// one target after the other.
type HTTP struct {
	client  *http.Client
	targets []netip.AddrPort
	header  string
	stop    context.CancelFunc
	wg      sync.WaitGroup
	slots   chan struct{}

	mu     sync.Mutex
	report HTTPReport
}

// StartHTTP starts a requester. The answers' header names the pod.
func StartHTTP(ns *netns.Namespace, targets []netip.AddrPort, header string, interval time.Duration) *HTTP {
	ctx, stop := context.WithCancel(context.Background())
	h := &HTTP{
		targets: targets,
		header:  header,
		stop:    stop,
		slots:   make(chan struct{}, maxRequests),
		report:  HTTPReport{ByPod: make(map[string]int)},
	}
	h.client = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			target, err := netip.ParseAddrPort(addr)
			if err != nil {
				return nil, err
			}
			return dial(ctx, ns, target)
		},
	}}
	h.wg.Go(func() { h.run(ctx, interval) })
	return h
}

// Report returns the counts so far.
func (h *HTTP) Report() HTTPReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.report
	r.ByPod = maps.Clone(r.ByPod)
	return r
}

// Stop ends the requester and reports. Requests that are under way are given
// up and not counted.
func (h *HTTP) Stop() HTTPReport {
	h.stop()
	h.wg.Wait()
	return h.Report()
}

func (h *HTTP) run(ctx context.Context, interval time.Duration) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case h.slots <- struct{}{}:
			target := h.targets[i%len(h.targets)]
			h.wg.Go(func() {
				defer func() { <-h.slots }()
				h.request(ctx, target)
			})
		default: // all are waiting for answers: they will be counted as failed
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *HTTP) request(ctx context.Context, target netip.AddrPort) {
	pod, err := h.get(ctx, target)
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.report.Failed++
		h.report.LastErr = err
		return
	}
	h.report.Answered++
	h.report.ByPod[pod]++
}

func (h *HTTP) get(ctx context.Context, target netip.AddrPort) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/", target), nil)
	if err != nil {
		return "", err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", fmt.Errorf("read answer of %s: %w", target, err)
	}
	return resp.Header.Get(h.header), nil
}
