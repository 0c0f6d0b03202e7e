package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestStateDirIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := openStateDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openStateDir(dir)
	if !errors.Is(err, ErrStateDirInUse) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second agent: %v, want ErrStateDirInUse that names the directory and the pid", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := openStateDir(dir)
	if err != nil {
		t.Fatalf("after the first closed: %v", err)
	}
	second.Close()
}

func TestStateDirCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openStateDir(filepath.Join(file, "state")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
}
