package topo

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Unplug takes a host's cable out of the switch: its port goes down, both ends
// lose carrier.
func (n *Network) Unplug(host Host) error {
	return n.port(host, "unplug", func(h *netlink.Handle, port netlink.Link) error { return h.LinkSetDown(port) })
}

// Plug puts a host's cable back.
func (n *Network) Plug(host Host) error {
	return n.port(host, "plug", func(h *netlink.Handle, port netlink.Link) error { return h.LinkSetUp(port) })
}

// Move puts the ports of hosts on a bridge of the switch. With some on
// OtherBridge the segment is split in two although every cable has carrier.
func (n *Network) Move(bridge string, hosts ...Host) error {
	for _, host := range hosts {
		err := n.port(host, "move to "+bridge, func(h *netlink.Handle, port netlink.Link) error {
			br, err := h.LinkByName(bridge)
			if err != nil {
				return err
			}
			return h.LinkSetMaster(port, br)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Network) port(host Host, what string, fn func(*netlink.Handle, netlink.Link) error) error {
	err := withNetlink(n.Switch, func(h *netlink.Handle) error {
		port, err := h.LinkByName(host.Port())
		if err != nil {
			return err
		}
		return fn(h, port)
	})
	if err != nil {
		return fmt.Errorf("%s the cable of %s: %w", what, host.Name, err)
	}
	return nil
}
