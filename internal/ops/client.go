package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

// ErrNotRunning is returned when nobody serves the socket.
var ErrNotRunning = errors.New("no agent is running")

// FetchState reads the state that is served on the unix socket path into out.
func FetchState(ctx context.Context, path string, out any) error {
	client := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			},
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+StatePath, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: nothing answers on %s", ErrNotRunning, path)
	case err != nil:
		return fmt.Errorf("ask agent: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read answer of agent: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("agent answers %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode answer of agent: %w", err)
	}
	return nil
}
