// Package electiontest runs election machines against each other in virtual
// time: a lossy in-memory network, a membership judgement like that of the
// heartbeat provider, crashes, pauses, differing snapshots.
//
// Everything an [Env] does is a command of one line, see [Env.Run]. Golden
// scripts are such commands with the expected output ([RunScript]); the
// simulator draws commands from a seed ([Generate]), so that what it did is a
// script too and can be replayed. While it runs, an Env checks the promises of
// the protocol (see check.go) and reports the first one broken.
package electiontest
