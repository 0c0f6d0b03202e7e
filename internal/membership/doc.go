// Package membership tells who is alive, and carries what members say to each
// other.
//
// The provider [Heartbeat] sends authenticated UDP multicast on each announcing
// interface: hearing a peer proves layer-2 adjacency on the very interface
// that counts. The package knows nothing of who owns what: it carries
// [election.Beat] values and judges silence.
//
// # On the wire
//
// Heartbeats go to 224.0.0.254 or ff02::114, the groups for experiments of RFC
// 4727, UDP port 7481. Switches never prune 224.0.0.0/24 by IGMP snooping (RFC
// 4541 section 2.1.2); for the IPv6 group the kernel sends MLD reports. Where
// multicast is dropped altogether, [Config.Peers] are sent to one by one.
// The socket is bound to the interface, and the TTL must be 255 (RFC 5082): who
// isn't on the segment can't be heard. The format is described in wire.go; a
// heartbeat that is too large for a frame is split into several, each complete
// in itself.
//
// # Judging
//
// A peer is dead after a silence of [Heartbeat.DeadTime], and only when
// everything that waits in the socket has been read: a process that was kept
// from running for a while must not take its own pause for the others' death.
// For the same reason a time in which it did not run is nobody's silence.
// A peer whose agent hangs falls silent by itself, see [Heartbeat.Confirm].
//
// A node's name belongs to one process at a time. A restarted one takes it over
// when the former misses a beat. When two living processes have the same name
// the first keeps it, and the other is dropped and complained about.
//
// # Who may speak
//
// With a key, a datagram counts if its HMAC-SHA256 is right and its sequence
// number is new. What was heard before is remembered beyond the death of its
// sender, not beyond our own restart: a recording from before that can make a
// dead peer look alive, but never as one that hears us ([Peer.HearsUs]), because
// this process has a new random instance. Without a key anybody on the segment
// may join.
package membership
