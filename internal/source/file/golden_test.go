package file

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata/golden")

// TestGolden loads the files of every case and compares the snapshot, or the
// error, with the section "want". Files are in dir/, so that the case can say
// something about the directory itself by not having any.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			var want *txtar.File
			for i, f := range ar.Files {
				if f.Name == "want" {
					want = &ar.Files[i]
					continue
				}
				writeFile(t, filepath.Join(root, f.Name), f.Data)
			}
			got := []byte(strings.ReplaceAll(outcome(t, filepath.Join(root, "dir")), root+"/", ""))
			if *update {
				if want == nil {
					ar.Files = append(ar.Files, txtar.File{Name: "want"})
					want = &ar.Files[len(ar.Files)-1]
				}
				want.Data = got
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want == nil {
				t.Fatal("no section want: run with -update")
			}
			if !bytes.Equal(got, want.Data) {
				t.Error(cmp.Diff(string(want.Data), string(got)))
			}
		})
	}
}

// outcome is what a load of dir comes to, as text.
func outcome(t *testing.T, dir string) string {
	t.Helper()
	snap, err := newSource(dir).Load()
	if err == nil {
		return snap.String()
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("the error is a %T: %v", err, err)
	}
	return "error: " + err.Error() + "\n"
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
