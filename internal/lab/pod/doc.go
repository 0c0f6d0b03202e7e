// Package pod is what runs in the lab's pods: a web server and an echo server,
// as goroutines of the lab whose sockets were made in the pod's namespace.
package pod
