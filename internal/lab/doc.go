// Package lab builds networks in namespaces, runs real agents on them, breaks
// things, and measures what a client notices.
//
// It is the demo, the end-to-end fixture and the benchmark in one, and needs
// nothing but Linux, root and the binary itself. A lab is put together from
// parts that know nothing of each other: topo (the network as data and its
// driver), pod (what runs in pods), proxy (a service proxy), probe (a
// client's view) and capture (the switch's view). This package starts agents
// as processes, writes their manifests, and holds the scenarios: each states
// what must hold, and is one file.
package lab
