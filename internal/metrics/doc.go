// Package metrics counts verdicts by typed reason.
//
// Every enum of reasons in Fairlead (a frame ignored, a heartbeat dropped, a
// manifest refused) has a String method whose value is the metric label, the
// key in `fairlead status` and the word in the log. A [Vec] counts one such
// enum with one atomic per reason; a [Set] collects the Vecs of a process and
// exposes them as Prometheus series and as a flat map. The package does not
// serve HTTP: that is ops.
package metrics
