// Package linktest gives tests network namespaces of their own, with cables
// between them. The namespaces have no name: they vanish with the test process
// whatever happens. The package is for tests only.
package linktest

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// NS is a network namespace, its loopback interface up, gone when the test
// ends.
type NS struct {
	// Netlink changes links and addresses inside.
	Netlink *netlink.Handle
	handle  netns.NsHandle
}

// RequirePrivilege skips the test without root, and fails it instead when the
// environment variable CI is set.
func RequirePrivilege(t testing.TB) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") != "":
		t.Fatal("PRIVILEGE MISSING: this test needs root, and in CI that is a failure")
	default:
		t.Skip("PRIVILEGE MISSING: this test needs root: NOT TESTED")
	}
}

// New makes a namespace.
func New(t testing.TB) *NS {
	t.Helper()
	RequirePrivilege(t)
	n := &NS{}
	fail := make(chan error)
	go func() {
		// The thread is never unlocked: it dies with this goroutine, and takes
		// its membership of the namespace with it.
		runtime.LockOSThread()
		fail <- n.create()
	}()
	if err := <-fail; err != nil {
		t.Fatalf("make network namespace: %v", err)
	}
	t.Cleanup(func() {
		n.Netlink.Close()
		if err := n.handle.Close(); err != nil {
			t.Errorf("close network namespace: %v", err)
		}
	})
	n.Up(t, "lo")
	return n
}

func (n *NS) create() (err error) {
	if n.handle, err = netns.New(); err != nil {
		return err
	}
	// No duplicate address detection, which would make each address wait 1 s.
	for _, f := range []string{"all", "default"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+f+"/accept_dad", []byte("0"), 0o644); err != nil {
			return err
		}
	}
	n.Netlink, err = netlink.NewHandle(unix.NETLINK_ROUTE)
	return err
}

// Do runs f on a thread that is inside the namespace. Sockets opened by f, but
// not by goroutines that it starts, belong to the namespace.
func (n *NS) Do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err := netns.Set(n.handle); err != nil {
			panic(err)
		}
		f()
	}()
	<-done
}

// Link returns the interface of that name.
func (n *NS) Link(t testing.TB, name string) netlink.Link {
	t.Helper()
	l, err := n.Netlink.LinkByName(name)
	if err != nil {
		t.Fatalf("find link %s: %v", name, err)
	}
	return l
}

// Up sets an interface administratively up.
func (n *NS) Up(t testing.TB, name string) {
	t.Helper()
	if err := n.Netlink.LinkSetUp(n.Link(t, name)); err != nil {
		t.Fatalf("set %s up: %v", name, err)
	}
}

// Down sets an interface administratively down.
func (n *NS) Down(t testing.TB, name string) {
	t.Helper()
	if err := n.Netlink.LinkSetDown(n.Link(t, name)); err != nil {
		t.Fatalf("set %s down: %v", name, err)
	}
}

// AddAddr gives an interface the address cidr.
func (n *NS) AddAddr(t testing.TB, name, cidr string) {
	t.Helper()
	if err := n.Netlink.AddrAdd(n.Link(t, name), parseAddr(t, cidr)); err != nil {
		t.Fatalf("add %s to %s: %v", cidr, name, err)
	}
}

// DelAddr takes the address cidr from an interface.
func (n *NS) DelAddr(t testing.TB, name, cidr string) {
	t.Helper()
	if err := n.Netlink.AddrDel(n.Link(t, name), parseAddr(t, cidr)); err != nil {
		t.Fatalf("remove %s from %s: %v", cidr, name, err)
	}
}

// Cable joins an interface of a and one of b, both new and up.
func Cable(t testing.TB, a *NS, aName string, b *NS, bName string) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = aName
	// The kernel tells of a veth's carrier at once if its index and its peer's
	// differ, and at most once per second if they happen to be the same number
	// in two namespaces (linkwatch_urgent_event).
	attrs.Index = 1000 + rand.IntN(1<<20)
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: bName, PeerNamespace: netlink.NsFd(b.handle)}
	if err := a.Netlink.LinkAdd(veth); err != nil {
		t.Fatalf("make cable %s-%s: %v", aName, bName, err)
	}
	a.Up(t, aName)
	b.Up(t, bName)
}

// Delete removes an interface, and with it the cable that it is the end of.
func (n *NS) Delete(t testing.TB, name string) {
	t.Helper()
	if err := n.Netlink.LinkDel(n.Link(t, name)); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

func parseAddr(t testing.TB, cidr string) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(cidr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
