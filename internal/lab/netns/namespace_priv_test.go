package netns_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/fairlead-lb/fairlead/internal/lab/labtest"
	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

func TestNamespace(t *testing.T) {
	linktest.RequirePrivilege(t)
	name := labtest.Prefix(t) + "-x"
	ns, err := netns.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	defer netns.Delete(name)

	if _, err := netns.Create(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one of the name: %v", err)
	}
	if err := ns.Set(netns.Sysctl{Key: "net/ipv4/ip_forward", Value: "1"}); err != nil {
		t.Error(err)
	}
	if err := ns.Set(netns.Sysctl{Key: "net/ipv4/nothing", Value: "1"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key that isn't there: %v", err)
	}
	if err := ns.Set(netns.Sysctl{Key: "net/ipv4/nothing", Value: "1", Optional: true}); err != nil {
		t.Errorf("an optional key that isn't there: %v", err)
	}

	inside := func() (n int) {
		if err := ns.Do(func() error {
			ifs, err := net.Interfaces()
			n = len(ifs)
			return err
		}); err != nil {
			t.Error(err)
		}
		return n
	}
	if n := inside(); n != 1 {
		t.Errorf("%d interfaces in a fresh namespace, want loopback alone", n)
	}

	cmd := exec.Command("sleep", "60")
	if err := ns.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	pids, err := netns.Processes(name)
	if err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("processes %v, %v; want %d", pids, err, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	cmd.Wait()
	if err := netns.Delete(name); err != nil {
		t.Error(err)
	}
	if err := netns.Delete(name); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}
