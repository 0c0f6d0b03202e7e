// Package probe measures what a client of a VIP notices: silence of UDP, the
// fate of long-lived TCP connections, and which pods answer HTTP requests.
//
// A probe's sockets are made in the client's namespace; its clock is the
// client's. What is measured is computed by pure functions over what was sent
// and what came back.
package probe
