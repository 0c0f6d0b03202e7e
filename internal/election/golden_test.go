package election_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-lb/fairlead/internal/election/electiontest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output in testdata; commit only what you understand")

// TestScripts runs the golden interaction scripts.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, env := electiontest.RunScript(string(want))
			if broken := env.Broken(); broken != "" {
				t.Errorf("promise broken: %s", broken)
			}
			if i := strings.Index(got, "\nerror: "); i >= 0 {
				line, _, _ := strings.Cut(got[i+1:], "\n")
				t.Error(line)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("output differs (-want +got), rewrite with -rewrite:\n%s", diff)
			}
		})
	}
}
