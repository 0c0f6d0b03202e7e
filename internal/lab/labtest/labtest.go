// Package labtest helps the lab's own privileged tests: it decides who may run
// them and checks that they leave nothing behind. It is imported by tests only.
package labtest

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// Root skips the test when it can't make network namespaces, and fails it when
// that happens on CI.
func Root(t testing.TB) {
	t.Helper()
	if unix.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this test must run as root, and on CI it must run")
	}
	t.Skip("SKIPPED: run as root to test network namespaces")
}

// Prefix returns a prefix for namespaces that nobody else uses. When the test
// ends, a namespace left with it is a failure, and is removed.
func Prefix(t testing.TB) string {
	t.Helper()
	b := make([]byte, 2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	prefix := "flt" + hex.EncodeToString(b)
	t.Cleanup(func() {
		left, err := netns.List(prefix)
		if err != nil {
			t.Error(err)
		}
		for _, name := range left {
			t.Errorf("namespace %s was left behind", name)
			if err := netns.Delete(name); err != nil {
				t.Error(err)
			}
		}
	})
	return prefix
}
