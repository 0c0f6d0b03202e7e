// Package capture watches the lab's switch and proves who answers for which
// VIP at what time.
//
// A [Recorder] sees the ARP and neighbour discovery frames that come in on the
// switch's ports; an [Asker] asks for VIPs often enough that silence means
// something; [Duplicates] computes from what was seen for how long two ports
// answered for one address. The asker speaks for a station of its own, so that
// the answers teach nobody's neighbour cache anything.
package capture
