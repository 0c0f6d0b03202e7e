package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/metrics"
)

func newSource(dir string) *Source {
	return New(dir, slog.New(slog.NewTextHandler(io.Discard, nil)), metrics.NewSet())
}

// running is a Source that runs, with what it logs and counts.
type running struct {
	*Source
	t    *testing.T
	logs *logBuffer
	set  *metrics.Set
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), "\n")
}

func start(t *testing.T, dir string) *running {
	t.Helper()
	r := &running{t: t, logs: &logBuffer{}, set: metrics.NewSet()}
	r.Source = New(dir, slog.New(slog.NewTextHandler(r.logs, nil)), r.set)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		goleak.VerifyNone(t)
	})
	return r
}

// deadline is far beyond what anything here takes.
const deadline = 10 * time.Second

// want waits for a snapshot with exactly these services.
func (r *running) want(names ...string) {
	r.t.Helper()
	late := time.After(deadline)
	var got []string
	for {
		select {
		case s := <-r.Updates():
			got = services(s)
			if strings.Join(got, " ") == strings.Join(names, " ") {
				return
			}
		case <-late:
			r.t.Fatalf("services %v, want %v; Err: %v", got, names, r.Err())
		}
	}
}

// wantErr waits for an error that has this in it, or for none.
func (r *running) wantErr(part string) {
	r.t.Helper()
	r.until("error "+part, func() bool {
		err := r.Err()
		return part == "" && err == nil || part != "" && err != nil && strings.Contains(err.Error(), part)
	})
}

func (r *running) until(what string, cond func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(deadline)
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("not in time: %s; Err: %v", what, r.Err())
		}
	}
}

func services(s *lb.Snapshot) []string {
	var names []string
	for _, svc := range s.Services {
		names = append(names, svc.Name.Name)
	}
	return names
}

// replace writes a file the way careful programs do.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(path), ".tmp")
	writeFile(t, tmp, data)
	if err := os.Rename(tmp, path); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunFollowsFiles(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	r.want()
	writeFile(t, filepath.Join(dir, "a.yaml"), serviceNamed("a"))
	r.want("a")
	replace(t, filepath.Join(dir, "a.yaml"), serviceNamed("b"))
	r.want("b")
	must(t, os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "a.yaml.off")))
	r.want()
	must(t, os.Rename(filepath.Join(dir, "a.yaml.off"), filepath.Join(dir, "a.yaml")))
	r.want("b")
	must(t, os.Remove(filepath.Join(dir, "a.yaml")))
	r.want()
}

// TestRunKeepsLastGood: a bad file changes nothing but the error; each new
// state is logged once, and counted.
func TestRunKeepsLastGood(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	writeFile(t, path, serviceNamed("a"))
	r := start(t, dir)
	r.want("a")

	replace(t, path, []byte("kind: ["))
	r.wantErr("a.yaml")
	replace(t, path, []byte("apiVersion: v1\nkind: Node\nmetadata: {nom: n}\n"))
	r.wantErr("metadata.name")
	select {
	case s := <-r.Updates():
		t.Errorf("published in a bad state:\n%s", s)
	default:
	}
	// An unrelated change in the same bad state is read, and not logged.
	before := r.set.Map()["file_load_error"]
	writeFile(t, filepath.Join(dir, "b.yaml"), serviceNamed("b"))
	r.until("another load", func() bool { return r.set.Map()["file_load_error"] > before })
	if n := r.logs.lines(); n != 2 {
		t.Errorf("%d lines logged, want 2:\n%s", n, r.logs.b.String())
	}
	replace(t, path, serviceNamed("c"))
	r.wantErr("")
	r.want("b", "c")
	// It is good again, and the service a is gone.
	if n := r.logs.lines(); n != 4 {
		t.Errorf("%d lines logged, want 4:\n%s", n, r.logs)
	}
	if m := r.set.Map(); m["file_load_ok"] < 2 {
		t.Errorf("counters %v", m)
	}
}

// TestRunUnchanged: what means the same is not published again.
func TestRunUnchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	writeFile(t, path, serviceNamed("a"))
	r := start(t, dir)
	r.want("a")
	before := r.set.Map()["file_load_ok"]
	replace(t, path, append([]byte("# a comment\n"), serviceNamed("a")...))
	r.until("a load", func() bool { return r.set.Map()["file_load_ok"] > before })
	replace(t, path, serviceNamed("b"))
	select {
	case s := <-r.Updates():
		if got := services(s); got[0] != "b" {
			t.Errorf("published again: %v", got)
		}
	case <-time.After(deadline):
		t.Error("no update")
	}
}

// TestRunConfigMap: Kubernetes swaps the files of a mounted ConfigMap by
// renaming the link that they all go through.
func TestRunConfigMap(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "..v1", "a.yaml"), serviceNamed("a"))
	must(t, os.Symlink("..v1", filepath.Join(dir, "..data")))
	must(t, os.Symlink(filepath.Join("..data", "a.yaml"), filepath.Join(dir, "a.yaml")))
	r := start(t, dir)
	r.want("a")
	writeFile(t, filepath.Join(dir, "..v2", "a.yaml"), serviceNamed("b"))
	must(t, os.Symlink("..v2", filepath.Join(dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	must(t, os.RemoveAll(filepath.Join(dir, "..v1")))
	r.want("b")
}

// TestRunLinkedDirectory: the directory itself is a symbolic link that is
// swapped.
func TestRunLinkedDirectory(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"a", "b"} {
		writeFile(t, filepath.Join(root, v, "s.yaml"), serviceNamed(v))
	}
	dir := filepath.Join(root, "current")
	must(t, os.Symlink("a", dir))
	r := start(t, dir)
	r.want("a")
	must(t, os.Symlink("b", dir+"_tmp"))
	must(t, os.Rename(dir+"_tmp", dir))
	r.want("b")
	writeFile(t, filepath.Join(root, "b", "c.yaml"), serviceNamed("c"))
	r.want("b", "c")
}

// TestRunDirectoryReturns: the directory need not be there from the start, and
// may go and come back, its parent included.
func TestRunDirectoryReturns(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "parent", "dir")
	r := start(t, dir)
	r.wantErr("no such file or directory")
	writeFile(t, filepath.Join(dir, "a.yaml"), serviceNamed("a"))
	r.want("a")
	if logs := r.logs.String(); strings.Contains(logs, "last good") || !strings.Contains(logs, "no good state yet") {
		t.Errorf("before there was a good state:\n%s", logs)
	}
	must(t, os.RemoveAll(dir))
	r.wantErr("no such file or directory")
	r.until("a log line", func() bool { return strings.Contains(r.logs.String(), "the last good state stays") })
	writeFile(t, filepath.Join(dir, "b.yaml"), serviceNamed("b"))
	r.want("b")
	must(t, os.Rename(filepath.Dir(dir), filepath.Join(root, "away")))
	r.wantErr("no such file or directory")
	writeFile(t, filepath.Join(dir, "c.yaml"), serviceNamed("c"))
	r.want("c")
	writeFile(t, filepath.Join(dir, "d.yaml"), serviceNamed("d"))
	r.want("c", "d")
}

// TestRunPolls: a change that no watch reports is found all the same.
func TestRunPolls(t *testing.T) {
	root := t.TempDir()
	target := filepath.Join(root, "elsewhere", "a.yaml")
	writeFile(t, target, serviceNamed("a"))
	dir := filepath.Join(root, "dir")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Symlink(target, filepath.Join(dir, "a.yaml")))
	r := start(t, dir)
	r.want("a")
	replace(t, target, serviceNamed("b"))
	r.want("b")
}

// TestPublish: the latest snapshot wins.
func TestPublish(t *testing.T) {
	s := newSource("")
	first, second := &lb.Snapshot{}, &lb.Snapshot{}
	s.publish(first)
	s.publish(second)
	if got := <-s.Updates(); got != second {
		t.Error("the older snapshot was kept")
	}
}

// TestSettle: a burst of changes is waited for, but not for ever.
func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		every   time.Duration // between changes
		n       int
		changed bool
		took    time.Duration
	}{
		{"none", 0, 0, false, pollInterval},
		{"one", 0, 1, true, quiet},
		{"burst", 20 * time.Millisecond, 6, true, 100*time.Millisecond + quiet},
		{"endless", 20 * time.Millisecond, 1000, true, patience},
		{"far apart", quiet + time.Millisecond, 2, true, quiet},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := make(chan struct{}, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					for range tt.n {
						select {
						case changes <- struct{}{}:
						case <-ctx.Done():
							return
						}
						select {
						case <-time.After(tt.every):
						case <-ctx.Done():
							return
						}
					}
				}()
				begin := time.Now()
				changed, err := settle(ctx, changes, pollInterval)
				if took := time.Since(begin); changed != tt.changed || took != tt.took || err != nil {
					t.Errorf("changed %v after %v (%v), want %v after %v", changed, took, err, tt.changed, tt.took)
				}
			})
		})
	}
}
