// Package election decides which node owns which VIP on one segment.
//
// It is a pure state machine: events and ticks go in, a view and effects come
// out. It has no goroutine, clock, socket or logger; the same inputs give the
// same outputs on every machine. One [Machine] serves one segment, that is one
// interface of this node and the members heard through it. It judges nobody
// dead: that is for membership, which knows whether everything was read.
//
// # Claims
//
// Every [Beat] carries the claims (address, epoch) of its sender. The higher
// epoch wins; at the same epoch the better rank does, a rendezvous hash of node
// and address that is the same everywhere. A new claim has an epoch above all
// that its node ever heard of for the address, and not below
// [Config.BootEpoch]. Nothing depends on that clock being right.
//
// An owner keeps its VIP until it hears a claim that wins, or may not have it
// any more. Against a claim that loses it keeps it, and if the rival has not
// given way a dead time later it has the network told again (Contested, a new
// [Ownership.Generation]). Claims are respected from anybody, even from a node
// that the snapshot refuses.
//
// An address is an orphan when its claimant was lost, or lives and has not
// claimed it for a dead time. Silence alone is not enough: a process that is
// scheduled late would take it for a death.
//
// # Placement
//
// Orphans are dealt out in the order of their addresses, each to the candidate
// with the fewest VIPs, then the best rank. All nodes compute the same, also
// when some of the new claims have been heard already, as long as these come in
// the order of their addresses. The best candidate claims at once, the k-th
// best k dead times later, and those refused for a soft reason come after
// everybody else: however the views differ, no VIP stays an orphan.
//
// Ownership is sticky. Loads (all VIPs that a node owns) that differ by more
// than one for [Config.RebalanceAfter] are evened out: all nodes compute the
// same plan, and each hands over what is its own to give. A node is offered
// something only when it was there for as long, so one that comes and goes gets
// nothing; one that didn't take it is left alone for ten times as long.
//
// # Handover
//
// An owner that should not be one asks the best other candidate that hears it
// to claim with a given epoch, and answers until it hears a claim of that
// epoch or above from anybody. A target that does not claim within three dead
// times is given up for the next one. Without any, a soft reason is overruled,
// a hard one releases the VIP. [lb.InterfaceDown] releases at once.
//
// A handover is obeyed only if it comes from the owner, and not while
// listening: a late message must not bring back what is past. One for balance's
// sake is declined while some live peer can't hear the target, since that peer
// would claim the VIP in its turn.
//
// # Pauses
//
// A node that did not run for longer than the dead time may have been replaced
// without knowing. It suspends its VIPs (still claimed, not answered for),
// listens for a dead time, and then either has yielded or goes on with a new
// generation. The same listening precedes the first claim after a start and
// after an interface came back.
//
// # One-way links
//
// A peer that says that it does not hear us, more than two dead times after it
// was first heard, never will: it is deaf. If both claim a VIP we yield whatever
// the epochs, because it can't. It is no target of a handover. A node that no
// live peer hears leaves orphans to the others.
//
// With these rules any three nodes come to rest however their links are cut,
// with one exception: a ring in which each hears just one other that doesn't
// hear it. There a VIP goes round, answered for by somebody at all times.
//
// # The one that was cut off
//
// A node that lost several peers at once, had no carrier, or has not heard
// anybody since it started (the port of a switch may forward only half a minute
// after the link is up) was most likely the one cut off. Alone, it claims
// everything; nobody is harmed. But its epochs are then the higher ones, and
// when it is back it would take everything along. So it says
// [lb.HearsNobody] in its beats until one dead time after it hears a peer
// again, and an owner that is not in that situation itself answers such a claim
// not by yielding but by raising its own epoch above it. For candidacy
// HearsNobody counts as eligible.
//
// In a partition with several nodes on either side both sides answer, and the
// higher epoch wins when it heals.
//
// # Cost
//
// A claim that says nothing new is one map lookup. Everything else happens in a
// sweep over the VIPs of this segment, which runs when something changed, and
// else about once per dead time. Addresses outside the snapshot are remembered
// for their epochs, at most 65536 and for 10 minutes after they were last heard.
package election
