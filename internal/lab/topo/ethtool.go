package topo

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolValue is struct ethtool_value of linux/ethtool.h.
type ethtoolValue struct {
	cmd  uint32
	data uint32
}

// ifreqData is struct ifreq with its union read as a pointer.
type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte // the rest of the union
}

// offload is one on/off setting of an interface.
type offload struct {
	cmd  uint32 // ETHTOOL_S…
	name string
	on   bool
}

// switchPortOffloads are what a switch port that faces a node needs: without
// transmit checksum offload it hands over frames with complete checksums, as a
// real switch does, and with GRO the veth pair runs its receive path in NAPI,
// which XDP redirection to it depends on.
var switchPortOffloads = []offload{
	{unix.ETHTOOL_STXCSUM, "tx", false},
	{unix.ETHTOOL_SGRO, "gro", true},
}

// setOffloads applies settings to an interface of the current namespace.
func setOffloads(ifname string, settings []offload) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open ethtool socket: %w", err)
	}
	defer unix.Close(fd)
	for _, s := range settings {
		value := ethtoolValue{cmd: s.cmd}
		if s.on {
			value.data = 1
		}
		req := ifreqData{data: unsafe.Pointer(&value)}
		copy(req.name[:unix.IFNAMSIZ-1], ifname)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
		if errno != 0 {
			return fmt.Errorf("set offload %s of %s: %w", s.name, ifname, errno)
		}
	}
	return nil
}
