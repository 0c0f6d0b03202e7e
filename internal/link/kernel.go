package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// receiveBuffer is the size in bytes of each event socket's buffer. A link
// event is about 1.5 kB, so some thousand interfaces may change while this
// process doesn't run before the kernel drops events.
const receiveBuffer = 4 << 20

// dumpTries bounds how often a dump that the kernel marks as interrupted by a
// concurrent change (NLM_F_DUMP_INTR) is repeated.
const dumpTries = 10

// kernel is where a Watcher learns from.
type kernel interface {
	// subscribe asks for all changes from now on.
	subscribe() (*subscription, error)
	// dump reads everything as it is now.
	dump() (*table, error)
}

// subscription is a running stream of changes. A closed channel is a stream
// that broke off (the socket overran, say): changes were missed.
type subscription struct {
	links chan netlink.LinkUpdate
	addrs chan netlink.AddrUpdate
	done  chan struct{}
	cause atomic.Pointer[error] // the last complaint of the library
}

func (s *subscription) complain(err error) { s.cause.Store(&err) }

// err says why the stream broke off.
func (s *subscription) err() error {
	if p := s.cause.Load(); p != nil {
		return fmt.Errorf("receive netlink events: %w", *p)
	}
	return errors.New("receive netlink events: stream ended")
}

// close ends the subscription. The library's readers block on the channels
// until they are drained.
func (s *subscription) close() {
	close(s.done)
	for range s.links {
	}
	for range s.addrs {
	}
}

// rtnetlink is the kernel of the network namespace that the calling thread is
// in.
type rtnetlink struct{}

func (rtnetlink) subscribe() (*subscription, error) {
	s, err := subscribe(true)
	if errors.Is(err, unix.EPERM) {
		// Without CAP_NET_ADMIN the buffer is bounded by net.core.rmem_max.
		s, err = subscribe(false)
	}
	return s, err
}

func subscribe(force bool) (*subscription, error) {
	s := &subscription{
		links: make(chan netlink.LinkUpdate, 64),
		addrs: make(chan netlink.AddrUpdate, 64),
		done:  make(chan struct{}),
	}
	err := netlink.LinkSubscribeWithOptions(s.links, s.done, netlink.LinkSubscribeOptions{
		ErrorCallback: s.complain, ReceiveBufferSize: receiveBuffer, ReceiveBufferForceSize: force,
	})
	if err != nil {
		close(s.done)
		return nil, fmt.Errorf("subscribe to link events: %w", err)
	}
	err = netlink.AddrSubscribeWithOptions(s.addrs, s.done, netlink.AddrSubscribeOptions{
		ErrorCallback: s.complain, ReceiveBufferSize: receiveBuffer, ReceiveBufferForceSize: force,
	})
	if err != nil {
		close(s.addrs) // nobody else will
		s.close()
		return nil, fmt.Errorf("subscribe to address events: %w", err)
	}
	return s, nil
}

func (k rtnetlink) dump() (t *table, err error) {
	for range dumpTries {
		if t, err = k.dumpOnce(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return t, err
		}
	}
	return nil, err
}

func (rtnetlink) dumpOnce() (*table, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	defer h.Close()
	links, err := h.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	addrs, err := h.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	t := newTable()
	for _, l := range links {
		t.setLink(interfaceOf(l.Attrs()))
	}
	for _, a := range addrs {
		if p, ok := prefixOf(a.IPNet); ok {
			t.setAddr(a.LinkIndex, p, usable(a.Flags))
		}
	}
	return t, nil
}

// applyLink takes one link event into the table. It reports false when the
// event doesn't tell enough and a dump is needed.
func (t *table) applyLink(u netlink.LinkUpdate) bool {
	switch {
	case u.Family == unix.AF_BRIDGE:
		// About an interface as a port of a bridge: RTM_DELLINK means here that it
		// left the bridge. The ordinary event comes as well.
		return true
	case u.Header.Type == unix.RTM_DELLINK:
		t.removeLink(int(u.Index))
		return true
	case u.Link.Attrs().MTU == 0:
		// Wireless drivers send events with hardly any attribute. (An MTU of 0 is
		// possible too; dumps are good for that, only slower.)
		return false
	}
	t.setLink(interfaceOf(u.Link.Attrs()))
	return true
}

// applyAddr takes one address event into the table.
func (t *table) applyAddr(u netlink.AddrUpdate) {
	if p, ok := prefixOf(&u.LinkAddress); ok {
		t.setAddr(u.LinkIndex, p, u.NewAddr && usable(u.Flags))
	}
}

func interfaceOf(a *netlink.LinkAttrs) Interface {
	// IFF_RUNNING is the operational state (RFC 2863), false for a port that
	// 802.1X keeps dormant; IFF_LOWER_UP is the carrier.
	const carrier = unix.IFF_LOWER_UP | unix.IFF_RUNNING
	i := Interface{
		Name: a.Name, Index: a.Index, MTU: a.MTU, Master: a.MasterIndex,
		Up:       a.RawFlags&unix.IFF_UP != 0,
		Carrier:  a.RawFlags&carrier == carrier,
		Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0,
	}
	if len(a.HardwareAddr) == len(i.MAC) { // tunnels have 4 or 16, InfiniBand 20
		i.MAC = lb.MAC(a.HardwareAddr)
	}
	return i
}

// usable reports whether an address with these IFA_F_ flags may be used as a
// source. An optimistic one (RFC 4429) may, although it is tentative still.
func usable(flags int) bool {
	if flags&unix.IFA_F_DADFAILED != 0 {
		return false
	}
	return flags&unix.IFA_F_TENTATIVE == 0 || flags&unix.IFA_F_OPTIMISTIC != 0
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	a = a.Unmap()
	ones, bits := n.Mask.Size()
	if !ok || bits != a.BitLen() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, ones), true
}
