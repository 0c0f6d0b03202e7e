// Package election decides which node owns which VIP on one segment.
//
// It is a pure state machine: events and ticks go in, a view and effects come
// out. It has no goroutine, clock, socket or logger; the same inputs give the
// same outputs on every machine. One [Machine] serves one segment, that is one
// interface of this node and the members heard through it.
package election
