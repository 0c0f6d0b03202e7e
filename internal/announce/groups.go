package announce

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// memberships joins multicast groups through ordinary IPv6 sockets, so that
// the kernel sends the MLD reports that snooping switches wait for. A socket
// can hold only so many memberships (net.core.optmem_max): further ones go to
// further sockets.
type memberships struct {
	link    Link
	sockets []int              // file descriptors, the last one may have room
	joined  map[netip.Addr]int // group → file descriptor
}

func (rawSockets) Groups(link Link) (Groups, error) {
	return &memberships{link: link, joined: make(map[netip.Addr]int)}, nil
}

// Set joins what is missing before it leaves what is too much. It goes on
// after an error.
func (m *memberships) Set(groups []netip.Addr) error {
	var errs []error
	for _, g := range groups {
		if _, ok := m.joined[g]; ok {
			continue
		}
		if err := m.join(g); err != nil {
			errs = append(errs, fmt.Errorf("join %s on %s: %w", g, m.link.Name, err))
			break // the next ones would fail for the same reason
		}
	}
	for g, fd := range m.joined {
		if _, wanted := slices.BinarySearchFunc(groups, g, netip.Addr.Compare); wanted {
			continue
		}
		delete(m.joined, g)
		// The kernel may have dropped it already, with the interface.
		if err := m.setsockopt(fd, unix.IPV6_LEAVE_GROUP, g); err != nil && !gone(err) {
			errs = append(errs, fmt.Errorf("leave %s on %s: %w", g, m.link.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (m *memberships) join(g netip.Addr) error {
	for _, fd := range slices.Backward(m.sockets) {
		err := m.setsockopt(fd, unix.IPV6_JOIN_GROUP, g)
		if err == nil {
			m.joined[g] = fd
			return nil
		}
		if !full(err) {
			return err
		}
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	m.sockets = append(m.sockets, fd)
	if err := m.setsockopt(fd, unix.IPV6_JOIN_GROUP, g); err != nil {
		return err
	}
	m.joined[g] = fd
	return nil
}

// full reports whether err says that a socket has as many memberships as it
// can have.
func full(err error) bool { return errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM) }

func gone(err error) bool { return errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) }

func (m *memberships) setsockopt(fd, opt int, g netip.Addr) error {
	mreq := &unix.IPv6Mreq{Multiaddr: g.As16(), Interface: uint32(m.link.Index)}
	return os.NewSyscallError("setsockopt", unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, opt, mreq))
}

// Close leaves all groups.
func (m *memberships) Close() error {
	var errs []error
	for _, fd := range m.sockets {
		errs = append(errs, os.NewSyscallError("close", unix.Close(fd)))
	}
	m.sockets, m.joined = nil, make(map[netip.Addr]int)
	return errors.Join(errs...)
}
