package topo

import "github.com/fairlead-lb/fairlead/internal/lab/netns"

// hostSysctls are what every host and pod has. Nothing here makes neighbour
// caches quicker than they are by default: that would flatter the numbers.
var hostSysctls = []netns.Sysctl{
	// Addresses are usable at once.
	{Key: "net/ipv6/conf/all/accept_dad", Value: "0"},
	{Key: "net/ipv6/conf/default/accept_dad", Value: "0"},
	{Key: "net/ipv6/conf/default/dad_transmits", Value: "0"},
	{Key: "net/ipv6/conf/all/accept_ra", Value: "0"},
	{Key: "net/ipv6/conf/default/accept_ra", Value: "0"},
	{Key: "net/ipv6/conf/all/disable_ipv6", Value: "0"},
	{Key: "net/ipv6/conf/default/disable_ipv6", Value: "0"},
	// New namespaces inherit the IPv4 settings of the machine.
	{Key: "net/ipv4/conf/all/rp_filter", Value: "0"},
	{Key: "net/ipv4/conf/default/rp_filter", Value: "0"},
	{Key: "net/ipv4/conf/all/arp_ignore", Value: "0"},
	{Key: "net/ipv4/conf/default/arp_ignore", Value: "0"},
	{Key: "net/ipv4/conf/all/arp_announce", Value: "0"},
	{Key: "net/ipv4/conf/default/arp_announce", Value: "0"},
	// A node that proxies sends packets back out of the interface that they came
	// in on; its redirects would lead the client around the VIP.
	{Key: "net/ipv4/conf/all/accept_redirects", Value: "0"},
	{Key: "net/ipv4/conf/default/accept_redirects", Value: "0"},
	{Key: "net/ipv6/conf/all/accept_redirects", Value: "0"},
	{Key: "net/ipv6/conf/default/accept_redirects", Value: "0"},
}

// nodeSysctls are what nodes have on top.
var nodeSysctls = []netns.Sysctl{
	{Key: "net/ipv4/ip_forward", Value: "1"},
	{Key: "net/ipv6/conf/all/forwarding", Value: "1"},
	{Key: "net/ipv6/conf/default/forwarding", Value: "1"},
	{Key: "net/ipv4/conf/all/send_redirects", Value: "0"},
	{Key: "net/ipv4/conf/default/send_redirects", Value: "0"},
}

// switchSysctls keep the switch out of layer 3.
var switchSysctls = []netns.Sysctl{
	{Key: "net/ipv6/conf/all/disable_ipv6", Value: "1"},
	{Key: "net/ipv6/conf/default/disable_ipv6", Value: "1"},
	{Key: "net/bridge/bridge-nf-call-iptables", Value: "0", Optional: true},
	{Key: "net/bridge/bridge-nf-call-ip6tables", Value: "0", Optional: true},
	{Key: "net/bridge/bridge-nf-call-arptables", Value: "0", Optional: true},
}
