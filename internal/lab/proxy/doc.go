// Package proxy stands in for a node's service proxy in the lab.
//
// It programs the kernel's nftables directly and does what kube-proxy does for
// a load-balancer address with externalTrafficPolicy Cluster: VIP:port is
// translated to a random endpoint, and the source to the node's own address, so
// that the answer comes back the same way. It watches nothing: [Apply] takes
// everything that is to be served and makes it so.
package proxy
