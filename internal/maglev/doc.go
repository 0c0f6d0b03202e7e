// Package maglev computes the consistent-hash table of a service port, the
// hash that picks a flow's slot in it, and the history of what the slots
// pointed to before.
//
// A [Builder] fills a table by the algorithm of Maglev (Eisenbud et al., NSDI
// 2016, §3.4), extended by weights. The result depends on the seed and the
// endpoints alone, so that all nodes that know of the same endpoints send a
// flow to the same one. [Tuple.Hash] and [SlotOf] are the flow's side of it;
// BPF programs compute the same. [History] remembers, per slot, which
// endpoints may still know flows from before a change.
//
// The package is pure: no I/O, no clock, no goroutines. It doesn't decide
// which endpoints take part, nor what their weights are, and knows of no map.
//
// # Definition of the table
//
// The table must come out alike in every version and in every language. All
// arithmetic is on unsigned 64-bit integers. For an endpoint, h absorbs (see
// [Tuple.Hash]), from the seed on, the two words of its 16-byte address (an
// IPv4 address as ::ffff:a.b.c.d) and its port as a number. Its k-th draw is
// finish(absorb(h, k)). The size of the table is M.
//
//   - offset = SlotOf(draw 1, M) and skip = 1 + SlotOf(draw 2, M-1): it prefers
//     the slots offset, offset + skip, offset + 2·skip … modulo M, in that order.
//   - step = ⌊2⁴⁶ / weight⌋ and phase = ⌊draw 3 · step / 2⁶⁴⌋: its turns are due
//     at phase, phase + step, phase + 2·step … The phase makes it a matter of
//     chance who comes first in each round; in the order of the input the
//     first ones would always get the slots that are left over.
//
// Turns are taken in the order in which they are due, those due together in
// the order of the input. Whose turn it is takes the first slot that it
// prefers of those that are free. That ends when none is.
package maglev
