// Package announce tells the network segments which VIPs are at this node: it
// answers ARP requests and neighbour solicitations, and sends gratuitous ARP
// and unsolicited neighbour advertisements.
//
// It is a whole-state driver: [Announcer.Set] takes everything that is to be
// announced and makes it so; the same value twice is a no-op. It puts no
// address on any interface: when the process stops, the answers stop. It does
// not decide who owns what: that is election.
package announce
