// Package topo is the lab's network as data, and the driver that builds it.
//
// One switch (a bridge in a namespace of its own), a client, nodes, and pods
// behind each node, each host in its own network namespace and each cable a
// veth pair whose switch end is called p-HOST. A second, empty bridge in the
// switch is there to split the segment. The package puts no Fairlead and no
// service on it.
package topo
