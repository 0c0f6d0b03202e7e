package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	Imports    []string
}

// rel is the package's path inside the module.
func (p goPackage) rel() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists every package of the module.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,ImportPath,GoFiles,Imports", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 10 {
		t.Fatalf("go list found only %d packages", len(list))
	}
	return list
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if why := forbidden(p.rel(), imp); why != "" {
				t.Errorf("%s imports %s: %s", p.rel(), imp, why)
			}
		}
	}
}

// The rules can fail: each of these imports breaks one.
func TestForbidden(t *testing.T) {
	for _, tc := range []struct{ pkg, path string }{
		{"internal/lb", module + "internal/metrics"},
		{"internal/lb", "golang.org/x/sys/unix"},
		{"internal/election", module + "internal/announce"},
		{"internal/announce", module + "internal/agent"},
		{"internal/link", module + "internal/announce"},
		{"internal/agent", module + "internal/lab"},
		{"internal/agent", "k8s.io/api/core/v1"},
		{"internal/election", "github.com/cilium/ebpf/link"},
		{"internal/agent", "github.com/vishvananda/netlink"},
		{"internal/new", module + "internal/lb"},
	} {
		if forbidden(tc.pkg, tc.path) == "" {
			t.Errorf("%s may import %s", tc.pkg, tc.path)
		}
	}
}

// parse reads the package's non-test files.
func parse(t *testing.T, p goPackage) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// Every package says what it is for.
func TestPackageDocs(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		doc := ""
		for _, f := range parse(t, p) {
			if f.Doc != nil && !ast.IsGenerated(f) {
				doc = f.Doc.Text()
			}
		}
		if len(strings.Fields(doc)) < 8 {
			t.Errorf("%s: the package comment says too little: %q", p.rel(), doc)
		}
	}
}

// impure are the selectors that a pure package may not use.
var impure = map[string]string{
	"time.Now": "a clock", "time.Since": "a clock", "time.Sleep": "a clock", "time.After": "a clock",
	"time.NewTimer": "a clock", "time.NewTicker": "a clock", "time.AfterFunc": "a clock",
	"os.Open": "a file", "os.ReadFile": "a file", "os.Getenv": "the environment",
	"net.Listen": "a socket", "net.Dial": "a socket", "rand.Int": "global randomness", "rand.IntN": "global randomness",
}

// Pure packages start no goroutine, read no clock, do no I/O.
func TestPurity(t *testing.T) {
	for _, p := range packages(t) {
		if !matches(p.rel(), append([]string{"internal/lb"}, pure...)) {
			continue
		}
		for _, f := range parse(t, p) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine", p.rel())
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok {
						if what, bad := impure[x.Name+"."+n.Sel.Name]; bad {
							t.Errorf("%s uses %s.%s: %s", p.rel(), x.Name, n.Sel.Name, what)
						}
					}
				}
				return true
			})
		}
	}
}

// Nothing happens before main: no init functions outside generated files.
func TestNoInit(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range parse(t, p) {
			if ast.IsGenerated(f) {
				continue
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function", p.rel())
				}
			}
		}
	}
}
