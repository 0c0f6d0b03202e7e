package file

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzLoad: whatever a file holds, loading it ends, in an error with a place or
// in the same snapshot every time.
func FuzzLoad(f *testing.F) {
	cases, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range cases {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			f.Add(file.Data, filepath.Ext(file.Name) == ".json")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		m := manifest{path: "f.yaml", data: data}
		if isJSON {
			m.path = "f.json"
		}
		snap, err := load([]manifest{m})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != m.path || e.Line < 1 || e.Document < 1 || e.Msg == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		again, err := load([]manifest{m})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(snap.String(), again.String()); d != "" {
			t.Fatal(d)
		}
	})
}
