// Package lb is the model: the values that everything else in Fairlead speaks.
//
// Sources (a directory of manifests, later a Kubernetes API server) produce a
// [Snapshot]; pure packages compute from it; drivers apply what they computed.
// The package imports nothing but the standard library, does no I/O and keeps
// no state. Addresses are [net/netip] values in canonical form: unmapped and
// without zone.
package lb
