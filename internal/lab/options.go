package lab

import "io"

// Options says how to run a scenario.
type Options struct {
	// Binary is the program whose agents are run.
	Binary   string
	Scenario string // its name
	// Runs is how often to run it, 0 as 1. The result is that of the first run
	// that failed, else of the one with the longest gap.
	Runs int
	// Keep keeps logs and captures even if everything held.
	Keep bool
	// Dir is where the run's directory is made; empty: the directory for
	// temporary files.
	Dir string
	// Out is for people.
	Out io.Writer
	// Quiet leaves only failures on Out.
	Quiet bool
}

// Result is what a scenario found. Its keys are part of the product's outside.
type Result struct {
	Scenario string `json:"scenario"`
	OK       bool   `json:"ok"`
	// GapMs is the longest silence that the UDP client saw.
	GapMs    int64 `json:"gap_ms"`
	UDPSent  int   `json:"udp_sent"`
	UDPLost  int   `json:"udp_lost"`
	TCPTotal int   `json:"tcp_total"` // connections open when things were broken
	TCPAlive int   `json:"tcp_alive"` // … and still echoing at the end
	Resets   int   `json:"resets"`    // … ended by the other side
	// DuplicateOwnerMs is the longest time that two nodes of one segment
	// answered for one VIP.
	DuplicateOwnerMs int64    `json:"duplicate_owner_ms"`
	Notes            []string `json:"notes"`

	Checks []Check `json:"-"`
}

// UpOptions says what to leave standing.
type UpOptions struct {
	Binary      string
	Nodes       int // 0: 3
	PodsPerNode int // 0: 2
	Dir         string
	Out         io.Writer
}

// BenchOptions says how to measure.
type BenchOptions struct {
	Binary string
	Dir    string
	Out    io.Writer
}
