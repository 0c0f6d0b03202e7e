// Package netns makes, enters and removes named network namespaces.
//
// The names are files under /run/netns, as iproute2 keeps them, so that a
// person can enter one with `nsenter --net=/run/netns/NAME`. The package knows
// nothing of what is built inside.
package netns
