//go:build race

package election_test

// raceEnabled is whether this binary has the race detector.
const raceEnabled = true
