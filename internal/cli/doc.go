// Package cli is the command line: one file per command, which parses flags,
// wires parts and prints. It decides nothing that a library could want.
//
// Commands named by a noun change nothing; those named by a verb do.
package cli
