// Package link watches this machine's network interfaces: which exist, their
// addresses, MACs and carrier. It learns by netlink events, not by polling,
// and hands out whole states. It changes nothing.
package link
