// Package announce tells the network segments which VIPs are at this node: it
// answers ARP requests and neighbour solicitations, and sends gratuitous ARP
// and unsolicited neighbour advertisements.
//
// It is a whole-state driver: [Announcer.Set] takes everything that is to be
// announced and makes it so; the same value twice is a no-op. It puts no
// address on any interface: when the process stops, the answers stop. It does
// not decide who owns what: that is election.
//
// An entry is one address with its schedule, a segment is all entries of a link
// and decides about frames: both are pure. A wire is a segment with its ports,
// which are the sockets. The [Announcer] owns the wires; one goroutine of it
// sends what is due, one opens and closes sockets, and one for each socket
// reads the frames that the filter in the kernel lets through.
package announce
