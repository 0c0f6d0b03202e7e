// Package link watches this machine's network interfaces: which exist, their
// addresses, MACs and carrier. It learns by netlink events, not by polling,
// and hands out whole states. It changes nothing.
//
// A loss of carrier is seen within a millisecond or so of the kernel telling of
// it; the kernel itself tells of the carrier of one interface at most once per
// second when it changes often (linkwatch).
package link
