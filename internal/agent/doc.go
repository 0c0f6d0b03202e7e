// Package agent is the node daemon: it wires a source, membership, election
// and the announcer together, and owns their shared state in one goroutine.
//
// What it decides is decided by pure functions ([eligible], [desired]) and by
// the election's state machine; what it applies goes to drivers as whole
// states. It does not know Kubernetes' API and holds no socket of its own but
// the control socket in the state directory.
package agent
