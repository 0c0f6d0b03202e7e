package membership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The groups are those of RFC 4727 for experiments. Both are link-local.
// Switches never prune 224.0.0.0/24, whatever their IGMP snooping has learned
// (RFC 4541 section 2.1.2); for the IPv6 group they rely on the MLD reports that
// the kernel sends for the socket.
var (
	groupIPv4 = netip.AddrFrom4([4]byte{224, 0, 0, 254})
	groupIPv6 = netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 14: 0x01, 15: 0x14})
)

// receiveBuffer in bytes holds the heartbeats of a large segment for as long as
// this process may be kept from running.
const receiveBuffer = 4 << 20

// classNetworkControl is DSCP CS6 as TOS and traffic class (RFC 4594 section 3.1):
// a segment that is full must lose something else.
const classNetworkControl = 0xc0

// priorityControl is the highest socket priority that needs no privilege.
const priorityControl = 6

// udp opens sockets in the network namespace of the calling thread.
type udp struct{}

// udpConn is a UDP socket bound to one interface. It is not handed to the Go
// runtime's poller, which would wake this process for every datagram that comes
// and for every one that has left: the session looks often enough by itself.
type udpConn struct {
	to  []unix.Sockaddr
	pin []byte // control message that pins the source address

	mu      sync.Mutex // held during system calls: closing must not free fd under them
	fd      int        // -1 when closed
	control [128]byte
}

func (udp) open(l Link, port uint16, peers []netip.Addr) (conn, error) {
	family, group, local := unix.AF_INET, groupIPv4, unix.Sockaddr(&unix.SockaddrInet4{Port: int(port)})
	if !l.Addr.Is4() {
		family, group, local = unix.AF_INET6, groupIPv6, &unix.SockaddrInet6{Port: int(port)}
	}
	to := destinations(l, port, group, peers)
	if len(to) == 0 {
		return nil, fmt.Errorf("open heartbeat socket on %s: no unicast peer has an address of the family of %s", l.Name, l.Addr)
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP)
	if err != nil {
		return nil, fmt.Errorf("open heartbeat socket on %s: %w", l.Name, err)
	}
	if err := configure(fd, l, group); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("open heartbeat socket on %s: %w", l.Name, err)
	}
	if err := unix.Bind(fd, local); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bind heartbeat socket on %s to port %d: %w", l.Name, port, err)
	}
	return &udpConn{fd: fd, to: to, pin: pinSource(l)}, nil
}

// destinations returns whom to send to.
func destinations(l Link, port uint16, group netip.Addr, peers []netip.Addr) []unix.Sockaddr {
	if len(peers) == 0 {
		return []unix.Sockaddr{sockaddr(l, group, port)}
	}
	var to []unix.Sockaddr
	for _, p := range peers {
		if p.Is4() == l.Addr.Is4() && p != l.Addr {
			to = append(to, sockaddr(l, p, port))
		}
	}
	return to
}

func sockaddr(l Link, a netip.Addr, port uint16) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	s := &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
	if a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() {
		s.ZoneId = uint32(l.Index)
	}
	return s
}

// pinSource returns the control message that makes l.Addr the source address:
// the socket can't be bound to it without going deaf to the group.
func pinSource(l Link) []byte {
	if l.Addr.Is4() {
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: l.Addr.As4()})
	}
	return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: l.Addr.As16(), Ifindex: uint32(l.Index)})
}

// configure sets all options of the socket, binds it to the interface and joins
// the group there. Bound by index and not by name, it can't end up on another
// interface that has taken the name; being bound is what makes hearing a peer
// prove that it is on this segment.
func configure(fd int, l Link, group netip.Addr) error {
	type option struct {
		name              string
		level, opt, value int
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, l.Index); err != nil {
		return fmt.Errorf("bind to interface: %w", err)
	}
	if err := boundDevice(fd); err != nil {
		return fmt.Errorf("bind to interface: %w", err)
	}
	var options []option
	if l.Addr.Is4() {
		options = append(options,
			option{"set TTL", unix.IPPROTO_IP, unix.IP_TTL, gtsm},
			option{"set multicast TTL", unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, gtsm},
			option{"ask for the TTL", unix.IPPROTO_IP, unix.IP_RECVTTL, 1},
			option{"set TOS", unix.IPPROTO_IP, unix.IP_TOS, classNetworkControl},
			option{"turn multicast loop off", unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 0},
			option{"leave other groups", unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0},
		)
	} else {
		options = append(options,
			option{"refuse IPv4", unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1},
			option{"set hop limit", unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, gtsm},
			option{"set multicast hop limit", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, gtsm},
			option{"ask for the hop limit", unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1},
			option{"set traffic class", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, classNetworkControl},
			option{"turn multicast loop off", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, 0},
			option{"leave other groups", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0},
			option{"choose multicast interface", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, l.Index},
		)
	}
	options = append(options, option{"ask for the time", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1})
	// After the TOS, which sets the priority as a side effect.
	options = append(options, option{"set priority", unix.SOL_SOCKET, unix.SO_PRIORITY, priorityControl})
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.opt, o.value); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer); err != nil {
		// Without CAP_NET_ADMIN: as much as net.core.rmem_max allows.
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer); err != nil {
			return fmt.Errorf("size receive buffer: %w", err)
		}
	}
	if !l.Addr.Is4() {
		mreq := &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(l.Index)}
		if err := unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, mreq); err != nil {
			return fmt.Errorf("join %s: %w", group, err)
		}
		return nil
	}
	mreq := &unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(l.Index)}
	if err := unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, mreq); err != nil {
		return fmt.Errorf("choose multicast interface: %w", err)
	}
	if err := unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, mreq); err != nil {
		return fmt.Errorf("join %s: %w", group, err)
	}
	return nil
}

// boundDevice returns ENODEV if the interface that the socket is bound to
// doesn't exist (any more). Binding by index doesn't look.
func boundDevice(fd int) error {
	_, err := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
	return err
}

func (c *udpConn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
}

// send sends b to every destination, and returns the first error after trying
// all of them.
func (c *udpConn) send(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return os.ErrClosed
	}
	var first error
	for _, to := range c.to {
		_, err := unix.SendmsgN(c.fd, b, c.pin, to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err == nil || first != nil {
			continue
		}
		// Routing says no more than "network is unreachable" when the interface is
		// gone for good. Asking for its name tells.
		if gone := boundDevice(c.fd); gone != nil {
			err = gone
		}
		first = fmt.Errorf("send heartbeat: %w", err)
	}
	return first
}

func (c *udpConn) poll(b []byte) (int, arrival, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return 0, arrival{}, os.ErrClosed
	}
	for {
		n, controlLen, _, from, err := unix.Recvmsg(c.fd, b, c.control[:], unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, arrival{}, errEmpty
		case err != nil:
			return 0, arrival{}, fmt.Errorf("receive heartbeat: %w", err)
		}
		at := arrived(c.control[:controlLen])
		switch a := from.(type) {
		case *unix.SockaddrInet4:
			at.from = netip.AddrFrom4(a.Addr)
		case *unix.SockaddrInet6:
			at.from = netip.AddrFrom16(a.Addr)
		}
		return n, at, nil
	}
}

// arrived reads what the kernel says about a datagram: TTL or hop limit, -1 if
// there is none, and when it came. The kernel's time is the wall clock, which
// may jump: a session believes only so much of it.
func arrived(control []byte) arrival {
	at := arrival{hops: -1}
	for len(control) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		ttl := h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TTL
		limit := h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_HOPLIMIT
		switch {
		case (ttl || limit) && len(data) >= 4:
			at.hops = int(binary.NativeEndian.Uint32(data))
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS && len(data) >= 16:
			sec, nsec := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			at.age = max(0, time.Since(time.Unix(int64(sec), int64(nsec))))
		}
		control = rest
	}
	return at
}
