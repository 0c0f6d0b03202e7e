// Package bpf holds the BPF programs of Fairlead: their C sources in src, the
// headers that they need, and the objects and Go bindings that bpf2go makes of
// them. Objects and bindings are committed, so that building Fairlead needs no
// clang.
//
// There is no other code here. Loading and attaching belongs to the package
// that uses a program.
package bpf
