// Package ops serves what operators look at: /metrics, /healthz, /readyz,
// /debug/state and /debug/pprof, over TCP for scrapers and over the unix socket in the state
// directory for `fairlead status`. It computes nothing: the owner of the state
// hands in functions.
package ops
