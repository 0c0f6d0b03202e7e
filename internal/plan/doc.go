// Package plan computes what the data plane has to do, and knows what the data
// plane does.
//
// [Plan] turns a snapshot and the facts of a node into a [State]: the whole
// content of the maps that the programs read, as plain values. [Walk] is the
// twin of the programs: it takes a packet through director, deliver and reply
// on one node and returns the verdict, the packet as it leaves, and what is to
// be written to the flow table. The tests of the programs, and the commands
// that explain a packet, ask it what is right.
//
// The package is pure: no I/O, no clock, no goroutines. It reads no bytes: a
// [Packet] is what a parser made of a frame. It doesn't decide who owns a VIP,
// and it doesn't write maps.
//
// A packet that nobody on a node knows is passed on to nodes that may know it,
// at most [MaxHops] times. How often that happened is in its destination
// address: see [Mark].
package plan
