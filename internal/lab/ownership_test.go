package lab

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// states reads "n1: addr=owner/epoch …" lines as what agents say.
func readStates(t *testing.T, text string) map[string]agentState {
	t.Helper()
	states := make(map[string]agentState)
	for line := range strings.Lines(text) {
		node, words, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		var vips []map[string]any
		for _, w := range strings.Fields(words) {
			addr, rest, _ := strings.Cut(w, "=")
			owner, epoch, _ := strings.Cut(rest, "/")
			vips = append(vips, map[string]any{"address": addr, "owner": owner, "epoch": json.Number(epoch), "state": "standby", "reason": ""})
		}
		b, err := json.Marshal(map[string]any{"node": node, "vips": vips})
		if err != nil {
			t.Fatal(err)
		}
		var s agentState
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		states[node] = s
	}
	return states
}

func TestAgree(t *testing.T) {
	vips := vips("10.77.0.200", "10.77.0.201")
	for _, tc := range []struct{ name, states, want string }{
		{"agreed", "n1: 10.77.0.200=n1/5 10.77.0.201=n2/6\nn2: 10.77.0.201=n2/6 10.77.0.200=n1/5", "n1 owns 10.77.0.200\nn2 owns 10.77.0.201"},
		{"nobody runs", "", "no agent is running"},
		{"not known yet", "n1: 10.77.0.200=n1/5", "n1 does not know 10.77.0.201"},
		{"no owner", "n1: 10.77.0.200=/0 10.77.0.201=n1/5", "n1 sees no owner of 10.77.0.200 (standby)"},
		{"owner is dead", "n1: 10.77.0.200=n2/5 10.77.0.201=n1/5", "n1 thinks that n2 owns 10.77.0.200"},
		{"another epoch", "n1: 10.77.0.200=n1/5 10.77.0.201=n2/6\nn2: 10.77.0.200=n1/4 10.77.0.201=n2/6",
			"10.77.0.200: n2 sees n1 with epoch 4, another n1 with epoch 5"},
	} {
		o, err := agree(readStates(t, tc.states), vips)
		got := o.describe([]string{"n1", "n2"})
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, diff)
		}
	}
}

func TestMoved(t *testing.T) {
	a, b := netip.MustParseAddr("10.77.0.200"), netip.MustParseAddr("10.77.0.201")
	before := ownership{a: {"n1", 5}, b: {"n2", 6}}
	after := ownership{a: {"n3", 6}, b: {"n2", 7}}
	if got := join(after.moved(before)); got != "10.77.0.200" {
		t.Errorf("moved %s", got)
	}
	if got := tally(after.perNode([]string{"n1", "n2", "n3"})); got != "n1 0, n2 1, n3 1" {
		t.Errorf("per node: %s", got)
	}
}

func TestPercentile(t *testing.T) {
	var values []time.Duration
	for i := 20; i >= 1; i-- {
		values = append(values, time.Duration(i))
	}
	for p, want := range map[int]time.Duration{0: 1, 5: 1, 50: 10, 95: 19, 96: 20, 100: 20} {
		if got := percentile(values, p); got != want {
			t.Errorf("p%d of 1…20 is %d, want %d", p, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("p50 of nothing is %d", got)
	}
}
