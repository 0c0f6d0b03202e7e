package announce

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/cilium/ebpf"
	"github.com/fairlead-lb/fairlead/internal/bpf"
	"github.com/mdlayher/packet"
	xbpf "golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// NewSockets returns the AF_PACKET sockets and multicast memberships of the
// network namespace that Open and Groups are called in. They need CAP_NET_RAW,
// and CAP_BPF for the filter.
func NewSockets() Sockets { return rawSockets{} }

type rawSockets struct{}

// ErrIPv6Disabled is why no IPv6 address is announced on an interface whose
// stack would drop every packet for it.
var ErrIPv6Disabled = errors.New("ipv6 is disabled on the interface (sysctl net.ipv6.conf.*.disable_ipv6)")

func (rawSockets) Open(link Link, family Family) (Socket, error) {
	if family == NDP && ipv6Disabled(link.Name) {
		return nil, ErrIPv6Disabled
	}
	protocol := unix.ETH_P_ARP
	if family == NDP {
		protocol = unix.ETH_P_IPV6
	}
	filter, err := newKernelFilter(family)
	if err != nil {
		return nil, err
	}
	// A filter that drops everything is there before the socket is bound, and
	// is replaced by ours in one step: no frame that doesn't concern us is
	// ever queued.
	nothing, err := xbpf.Assemble([]xbpf.Instruction{xbpf.RetConstant{Val: 0}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("assemble filter: %w", err), filter.Close())
	}
	conn, err := packet.Listen(&net.Interface{Index: link.Index, Name: link.Name}, packet.Raw, protocol, &packet.Config{Filter: nothing})
	if err != nil {
		return nil, errors.Join(err, filter.Close())
	}
	if err := filter.attach(conn); err != nil {
		return nil, errors.Join(err, conn.Close(), filter.Close())
	}
	return &rawSocket{conn: conn, kernelFilter: filter, link: link.Name, family: family}, nil
}

// ipv6Disabled reads the setting of the calling thread's network namespace.
func ipv6Disabled(ifname string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + ifname + "/disable_ipv6")
	// Without the file there is no IPv6 on the interface at all: an MTU below
	// 1280, or a kernel without it.
	return err != nil || len(b) == 0 || b[0] != '0'
}

// rawSocket is an AF_PACKET socket with its filter.
type rawSocket struct {
	conn *packet.Conn
	*kernelFilter
	link   string
	family Family
}

// Check finds IPv6 switched off under an open socket. The stack has then
// forgotten its multicast groups, too.
func (s *rawSocket) Check() error {
	if s.family == NDP && ipv6Disabled(s.link) {
		return ErrIPv6Disabled
	}
	return nil
}

func (s *rawSocket) Read(b []byte) (int, error) {
	n, _, err := s.conn.ReadFrom(b)
	return n, err
}

// Write sends at once or not at all: who calls it holds a lock.
func (s *rawSocket) Write(b []byte) (int, error) {
	rc, err := s.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var errno error
	if err := rc.Write(func(fd uintptr) bool {
		n, errno = unix.Write(int(fd), b) // the socket is in non-blocking mode, and bound
		return true
	}); err != nil {
		return 0, err
	}
	return n, errno
}

func (s *rawSocket) Close() error { return errors.Join(s.conn.Close(), s.kernelFilter.Close()) }

// kernelFilter is a BPF program with its maps.
type kernelFilter struct {
	program *ebpf.Program
	maps    bpf.AnnounceMaps
}

func newKernelFilter(family Family) (*kernelFilter, error) {
	spec, err := bpf.LoadAnnounce()
	if err != nil {
		return nil, fmt.Errorf("read socket filter: %w", err)
	}
	// Each socket has its own maps: what is announced differs by link, and its
	// counts go with it.
	unused := bpf.AnnounceProgNdp
	name := bpf.AnnounceProgArp
	if family == NDP {
		name, unused = unused, name
	}
	delete(spec.Programs, unused)
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load socket filter: %w", err)
	}
	defer c.Close()
	return &kernelFilter{
		program: c.DetachProgram(name),
		maps: bpf.AnnounceMaps{
			Ignored: c.DetachMap(bpf.AnnounceMapIgnored),
			Vips:    c.DetachMap(bpf.AnnounceMapVips),
		},
	}, nil
}

func (k *kernelFilter) attach(conn *packet.Conn) error {
	rc, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var errno error
	if err := rc.Control(func(fd uintptr) {
		errno = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_BPF, k.program.FD())
	}); err != nil {
		return err
	}
	if errno != nil {
		return fmt.Errorf("attach socket filter: %w", errno)
	}
	return nil
}

func (k *kernelFilter) Want(addr netip.Addr, what Interest) error {
	key := bpf.AnnounceVip{Addr: addr.As16()}
	if what == 0 {
		if err := k.maps.Vips.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
		return nil
	}
	var flags bpf.AnnounceInterest
	if what&Questions != 0 {
		flags |= bpf.AnnounceInterestINTEREST_ANSWER
	}
	if what&Claims != 0 {
		flags |= bpf.AnnounceInterestINTEREST_WATCH
	}
	return k.maps.Vips.Put(key, flags)
}

func (k *kernelFilter) Dropped() (Counts, error) {
	var counts Counts
	var perCPU []uint64
	for i, reason := range kernelReasons {
		if err := k.maps.Ignored.Lookup(bpf.AnnounceIgnored(i), &perCPU); err != nil {
			return counts, fmt.Errorf("read counts of socket filter: %w", err)
		}
		for _, n := range perCPU {
			counts[reason] += n
		}
	}
	return counts, nil
}

func (k *kernelFilter) Close() error { return errors.Join(k.program.Close(), k.maps.Close()) }
