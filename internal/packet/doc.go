// Package packet parses, builds and prints the frames that Fairlead speaks:
// Ethernet, ARP, and the neighbour discovery messages of IPv6.
//
// It is pure: bytes in, values and typed reasons out. Parsers of outside bytes
// never panic and say why they refuse.
package packet
