package archtest

import "strings"

// module is the path that every package of ours begins with.
const module = "github.com/fairlead-lb/fairlead/"

// layer is a set of packages and what they may import of ours. Paths are
// relative to the module; "x/..." is x and everything below.
type layer struct {
	packages []string
	imports  []string
}

// layers is the direction of imports: cmd → cli → {agent, lab, ops} → drivers
// and sources → pure packages → lb → the standard library. A package may always
// import what is below it in its own tree.
var layers = []layer{
	{packages: []string{"internal/lb"}},
	{packages: []string{"internal/metrics"}},
	{packages: pure, imports: []string{"internal/lb", "internal/election", "internal/maglev"}},
	{packages: []string{"api/..."}},
	{packages: []string{"internal/bpf"}},
	{
		packages: []string{"internal/announce", "internal/membership", "internal/link/..."},
		imports:  append([]string{"internal/lb", "internal/metrics", "internal/bpf"}, pure...),
	},
	{
		packages: []string{"internal/source/..."},
		imports:  []string{"internal/lb", "internal/metrics", "internal/source/...", "api/..."},
	},
	{packages: []string{"internal/ops"}, imports: []string{"internal/lb", "internal/metrics"}},
	{
		packages: []string{"internal/agent"},
		imports: append([]string{
			"internal/lb", "internal/metrics", "internal/ops", "internal/announce", "internal/membership", "internal/link",
		}, pure...),
	},
	{
		packages: []string{"internal/lab/..."},
		imports:  append([]string{"internal/lb", "internal/ops", "internal/agent", "internal/lab/...", "internal/bpf", "internal/link/linktest"}, pure...),
	},
	{packages: []string{"internal/cli"}, imports: []string{"internal/..."}},
	{packages: []string{"cmd/..."}, imports: []string{"internal/cli"}},
	{packages: []string{"internal/archtest"}},
}

// pure packages do no I/O, read no clock and start no goroutine.
var pure = []string{"internal/election/...", "internal/packet", "internal/maglev", "internal/plan"}

// fenced are modules of others that only some of our packages may import,
// their tests excepted.
var fenced = map[string][]string{
	"k8s.io/":                         {"api/...", "internal/source/..."},
	"sigs.k8s.io/":                    {"internal/source/...", "internal/lab/..."},
	"github.com/cilium/ebpf":          {"internal/bpf", "internal/announce", "internal/lab/..."},
	"github.com/vishvananda/netlink":  {"internal/link/...", "internal/lab/..."},
	"github.com/vishvananda/netns":    {"internal/link/linktest", "internal/lab/..."},
	"github.com/google/nftables":      {"internal/lab/..."},
	"github.com/mdlayher/packet":      {"internal/announce", "internal/lab/..."},
	"github.com/prometheus/":          {"internal/metrics", "internal/ops", "internal/agent"},
	"github.com/alecthomas/kong":      {"internal/cli"},
	"github.com/fsnotify/fsnotify":    {"internal/source/file"},
	"go.yaml.in/yaml":                 {"internal/source/...", "internal/lab/..."},
	"golang.org/x/time":               {"internal/announce"},
	"pgregory.net/rapid":              {},
	"github.com/google/go-cmp":        {},
	"go.uber.org/goleak":              {},
	"github.com/gopacket/gopacket":    {},
	"github.com/rogpeppe/go-internal": {},
}

// matches reports whether the package path (relative to the module) is named
// by one of the patterns.
func matches(path string, patterns []string) bool {
	for _, p := range patterns {
		if tree, ok := strings.CutSuffix(p, "/..."); ok {
			if path == tree || strings.HasPrefix(path, tree+"/") {
				return true
			}
		} else if path == p {
			return true
		}
	}
	return false
}

// forbidden is why one of our packages may not import path, or "".
func forbidden(pkg, path string) string {
	if rel, ours := strings.CutPrefix(path, module); ours {
		if strings.HasPrefix(rel, pkg+"/") {
			return ""
		}
		for _, l := range layers {
			if matches(pkg, l.packages) {
				if matches(rel, l.imports) {
					return ""
				}
				return "the direction of imports does not allow it"
			}
		}
		return "the package is in no layer: give it one in rules_test.go"
	}
	for prefix, allowed := range fenced {
		if strings.HasPrefix(path, prefix) && !matches(pkg, allowed) {
			return "only " + strings.Join(append(allowed, "tests"), ", ") + " may import it"
		}
	}
	if matches(pkg, []string{"internal/lb"}) && strings.Contains(path, ".") {
		return "the model imports the standard library only"
	}
	return ""
}
