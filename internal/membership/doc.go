// Package membership tells who is alive, and carries what members say to each
// other.
//
// The provider heartbeat sends authenticated UDP multicast on each announcing
// interface: hearing a peer proves layer-2 adjacency on the very interface
// that counts. The package knows nothing of who owns what: it carries
// [election.Beat] values and judges silence.
package membership
