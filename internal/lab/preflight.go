package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/proxy"
)

// preflight reports everything that the machine lacks for a lab, at once, with
// what to do about each.
func preflight(binary string) error {
	var errs []error
	if fi, err := os.Stat(binary); err != nil {
		errs = append(errs, fmt.Errorf("binary: %w: build it with `make build`", err))
	} else if fi.Mode()&0o111 == 0 {
		errs = append(errs, fmt.Errorf("binary: %s is not executable", binary))
	}
	if err := probeKernel(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("this machine can't run a lab:\n%w", errors.Join(errs...))
}

// probeKernel tries what a lab needs in a network namespace without a name,
// which is gone when the thread that it was made on is.
func probeKernel() error {
	errc := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			errc <- fmt.Errorf("network namespaces: %w: run as root, with CAP_SYS_ADMIN and CAP_NET_ADMIN, on a kernel with CONFIG_NET_NS", err)
			return
		}
		errc <- errors.Join(probeLinks(), probePackets(), probeNetfilter())
	}()
	return <-errc
}

func probeLinks() error {
	var errs []error
	bridge := netlink.NewLinkAttrs()
	bridge.Name = "br0"
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: bridge}); err != nil {
		errs = append(errs, fmt.Errorf("bridge: %w: needs CAP_NET_ADMIN and CONFIG_BRIDGE (modprobe bridge)", err))
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "v0"
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "v1"
	if err := netlink.LinkAdd(veth); err != nil {
		errs = append(errs, fmt.Errorf("veth: %w: needs CAP_NET_ADMIN and CONFIG_VETH (modprobe veth)", err))
	}
	if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
		errs = append(errs, errors.New("ipv6: the kernel has none: boot without ipv6.disable=1"))
	}
	return errors.Join(errs...)
}

func probePackets() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("packet sockets: %w: needs CAP_NET_RAW and CONFIG_PACKET", err)
	}
	unix.Close(fd)
	return nil
}

func probeNetfilter() error {
	if err := proxy.Probe(); err != nil {
		return fmt.Errorf("nftables: %w: needs CONFIG_NF_TABLES with NFT_NAT, NFT_MASQ, NFT_NUMGEN and NFT_CT (modprobe nf_tables nft_chain_nat nft_numgen)", err)
	}
	return nil
}
