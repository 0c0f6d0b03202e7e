// Package labtest helps the lab's own privileged tests: it checks that they
// leave nothing behind. It is imported by tests only.
package labtest

import (
	"crypto/rand"
	"encoding/hex"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

// Prefix returns a prefix for namespaces that nobody else uses, if the test may
// make any ([linktest.RequirePrivilege]). When the test ends, a namespace left with it is a failure, and is removed.
func Prefix(t testing.TB) string {
	t.Helper()
	linktest.RequirePrivilege(t)
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
