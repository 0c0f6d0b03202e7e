// Package convert turns Kubernetes objects into the model. It is shared by all
// sources, so that a directory of manifests and a Kubernetes API server mean
// the same thing.
//
// It is pure: no I/O, no clock, and the same objects in any order give the same
// [lb.Snapshot]. Whatever can't be used is left out alone and reported as an
// [lb.Problem] that names the object and the field and says what to write
// instead. What it can't know from the objects (whether an address is the
// broadcast address of the segment, whether a stranger has it) is for the agent
// to check.
package convert
