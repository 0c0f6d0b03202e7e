package election_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/election/electiontest"
)

// TestOneWayTopologies cuts every subset of the six directions between three
// nodes for a minute. After settling nothing may change any more, no two nodes
// of which one hears the other may both answer (the Env sees to that), and
// after healing everybody agrees.
func TestOneWayTopologies(t *testing.T) {
	links := []string{"n1>n2", "n2>n1", "n1>n3", "n3>n1", "n2>n3", "n3>n2"}
	for mask := range 1 << len(links) {
		var cut []string
		for i, l := range links {
			if mask&(1<<i) != 0 {
				cut = append(cut, l)
			}
		}
		script := []string{
			"add-nodes n1 n2 n3",
			"add-vips 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4",
			"advance 1s",
			"cut " + strings.Join(cut, " "),
			"advance 33s", // and once through rebalancing
			"quiet 1m",
			"heal *>*",
			"advance 1s",
			"settled",
		}
		switch strings.Join(cut, " ") {
		case "":
			script[3] = "heal *>*"
		case "n1>n2 n3>n1 n2>n3", "n2>n1 n1>n3 n3>n2":
			// A ring in which everybody hears just one other, who doesn't hear
			// him, cannot settle: whoever owns a VIP, the next one but one has
			// no sign of an owner. Somebody always answers, though.
			script[5] = "advance 1m"
		}
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			env := electiontest.New()
			for _, line := range script {
				if out := env.Run(line); strings.HasPrefix(out, "error") {
					t.Fatalf("%s: %s", line, out)
				}
			}
			if broken := env.Broken(); broken != "" {
				t.Errorf("%s\nscript:\n%s", broken, strings.Join(script, "\n"))
			}
		})
	}
}
