package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/agent"
)

// fairlead runs the command line and returns what it said.
func fairlead(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(args, Env{Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// Each mistake is one line on stderr that names what is wrong and what to do,
// and nothing is started.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.key")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args string
		code int
		want []string
	}{
		{"no command", "", exitUsage, []string{"expected one of"}},
		{"unknown command", "announce", exitUsage, []string{"announce"}},
		{"unknown flag", "agent --sauce x", exitUsage, []string{"--sauce"}},
		{"no source", "agent --node n1", exitUsage, []string{"--source"}},
		{"bad duration", "agent --source x --heartbeat-interval soon", exitUsage, []string{"--heartbeat-interval"}},
		{"bad peer", "agent --source x --heartbeat-peer n2", exitUsage, []string{"--heartbeat-peer"}},
		{"bad membership", "agent --source x --membership gossip", exitUsage, []string{"--membership", "heartbeat", "lease"}},
		{"bad glob", "agent --source x --interface eth[0", exitFailed, []string{"--interface eth[0"}},
		{"no interval", "agent --source x --heartbeat-interval 0s", exitFailed, []string{"--heartbeat-interval 0s"}},
		{"bad listen", "agent --source x --listen foo", exitFailed, []string{"--listen foo", "HOST:PORT"}},
		{"no key", "agent --source x --node n1", exitFailed, []string{"--key-file", "/dev/urandom", "--allow-unauthenticated"}},
		{"missing key", "agent --source x --key-file " + dir + "/none", exitFailed, []string{"--key-file", dir + "/none"}},
		{"empty key", "agent --source x --key-file " + empty, exitFailed, []string{"empty", empty}},
		{"lease without an API", "agent --source x --key-file k --membership lease", exitFailed, []string{"--membership lease", "Kubernetes API"}},
		{"dsr", "agent --source x --key-file k --forwarding dsr", exitFailed, []string{"--forwarding dsr", "kube-proxy"}},
		{"status without an agent", "status --state-dir " + dir, exitFailed, []string{"no agent is running", dir}},
		{"unknown scenario", "lab run --scenario owner-crush", exitFailed, []string{"owner-crush", "owner-crash"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := fairlead(strings.Fields(tc.args)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			last := stderr
			if i := strings.LastIndex(strings.TrimSuffix(stderr, "\n"), "\n"); i >= 0 {
				last = stderr[i+1:]
			}
			for _, w := range tc.want {
				if !strings.Contains(last, w) {
					t.Errorf("stderr ends with %q, want a line with %q", last, w)
				}
			}
			if stdout != "" {
				t.Errorf("stdout: %q", stdout)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	code, stdout, _ := fairlead("--help")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, w := range []string{"agent", "status", "lab", "version"} {
		if !strings.Contains(stdout, w) {
			t.Errorf("help does not mention %q:\n%s", w, stdout)
		}
	}
	// Every flag says what its environment variable is.
	_, stdout, _ = fairlead("agent", "--help")
	for _, w := range []string{"$FAIRLEAD_SOURCE", "$FAIRLEAD_STATE_DIR", "$FAIRLEAD_KEY_FILE", "$FAIRLEAD_INTERFACE"} {
		if !strings.Contains(stdout, w) {
			t.Errorf("agent --help does not mention %s", w)
		}
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAIRLEAD_STATE_DIR", dir)
	if _, _, stderr := fairlead("status"); !strings.Contains(stderr, dir) {
		t.Errorf("FAIRLEAD_STATE_DIR is not used: %s", stderr)
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := fairlead("version")
	if code != exitOK || !strings.HasPrefix(stdout, "fairlead ") {
		t.Errorf("%d %q", code, stdout)
	}
}

func TestPrintStatus(t *testing.T) {
	s := agent.Status{
		Node: "n1",
		Members: []agent.MemberStatus{
			{Node: "n1", Alive: true, MAC: "02:00:00:00:00:11", Interface: "eth0", Self: true},
			{Node: "n2", Alive: false, MAC: "02:00:00:00:00:12", Interface: "eth0", LastSeenMs: 4210, Reason: "silent"},
		},
		VIPs: []agent.VIPStatus{
			{Address: "10.77.0.200", Owner: "n1", Epoch: 7, Interface: "eth0", State: "owner", Reason: "claimed from n2", SinceMs: 61000},
			{Address: "10.77.0.9", State: "refused", Reason: "address_outside_pools: Service default/x: in no pool"},
		},
		Services:   []agent.ServiceStatus{{Name: "default/web", Address: "10.77.0.200", Port: 80, Protocol: "TCP", Forwarding: "kube-proxy", Endpoints: []string{"10.244.1.10:8080"}}},
		Interfaces: []agent.InterfaceStatus{{Name: "eth0", State: "announcing"}, {Name: "lo", State: "unused", Reason: "loopback"}},
		Problems:   []string{"x.yaml:3: Service default/x: bad"},
	}
	var out bytes.Buffer
	if err := printStatus(&out, s); err != nil {
		t.Fatal(err)
	}
	want := `Node n1

MEMBER   INTERFACE   MAC                 ALIVE   LAST SEEN     NOTE
n1       eth0        02:00:00:00:00:11   yes     this node     
n2       eth0        02:00:00:00:00:12   no      4210 ms ago   silent

VIP           STATE     OWNER   EPOCH   INTERFACE   FOR    REASON
10.77.0.200   owner     n1      7       eth0        1m1s   claimed from n2
10.77.0.9     refused   -       0       -           -      address_outside_pools: Service default/x: in no pool

SERVICE       ADDRESS       PORT     FORWARDING   ENDPOINTS
default/web   10.77.0.200   80/TCP   kube-proxy   1

Problems:
  x.yaml:3: Service default/x: bad
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// The keys of the JSON output are part of the product's outside.
func TestStatusKeys(t *testing.T) {
	b, err := json.Marshal(agent.Status{
		Members: []agent.MemberStatus{{}}, VIPs: []agent.VIPStatus{{}}, Services: []agent.ServiceStatus{{}}, Counters: map[string]uint64{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	has := func(where string, obj any, keys ...string) {
		for _, k := range keys {
			if _, ok := obj.(map[string]any)[k]; !ok {
				t.Errorf("%s lacks %q", where, k)
			}
		}
	}
	first := func(key string) any { return got[key].([]any)[0] }
	has("status", any(got), "node", "members", "vips", "services", "counters")
	has("member", first("members"), "node", "alive", "mac", "interface", "lastSeenMs")
	has("vip", first("vips"), "address", "owner", "epoch", "interface", "mac", "state", "reason")
	has("service", first("services"), "name", "address", "port", "protocol", "forwarding", "endpoints", "tableSize")
}
