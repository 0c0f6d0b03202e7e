package election_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/election/electiontest"
)

// TestScale: 500 VIPs over 5 nodes that start one after the other within 100
// ms, claims split over messages; then one of them crashes.
func TestScale(t *testing.T) {
	var vips strings.Builder
	for i := range 500 {
		fmt.Fprintf(&vips, " 10.1.%d.%d", i/250, 1+i%250)
	}
	env := electiontest.New()
	for _, line := range []string{
		"split 60",
		"add-nodes n1 n2", "advance 40ms", "add-nodes n3", "advance 30ms", "add-nodes n4 n5",
		"add-vips" + vips.String(),
		"advance 1s", "settled", "balanced", "quiet 2s",
		"mark", "crash n3", "advance 1s",
		"moves n3", "silence 160ms", "settled", "balanced", "quiet 2s",
	} {
		if out := env.Run(line); strings.HasPrefix(out, "error") {
			t.Fatalf("%.40s: %s", line, out)
		}
		if broken := env.Broken(); broken != "" {
			t.Fatalf("%.40s: %s", line, broken)
		}
	}
}
