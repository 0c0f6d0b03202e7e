package election

import (
	"net/netip"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Time is a monotonic instant: the time since an arbitrary zero that is fixed
// for the life of a Machine. It never goes backwards.
type Time = time.Duration

// Claim says "I own this address, and this is the how-manieth owner".
type Claim struct {
	Addr  netip.Addr
	Epoch uint64
}

// Handover asks To to claim Addr with Epoch; the sender goes on answering
// until it hears that claim.
type Handover struct {
	Addr  netip.Addr
	Epoch uint64
	To    string // node name
}

// Beat is what one heartbeat says about the election. A sender's claims may be
// split over several Beats: a Beat that lacks a claim does not withdraw it,
// only silence for the dead time does.
type Beat struct {
	Claims    []Claim
	Handovers []Handover
	// Refusal is why the sender asks not to be a candidate (Draining,
	// DataplaneNotReady, HearsNobody), or Eligible.
	Refusal lb.Refusal
}

// VIP is an address to be owned, with the nodes that the snapshot refuses.
// Nodes not in Refused are eligible by the snapshot; whether they are alive is
// the Machine's own knowledge.
type VIP struct {
	Addr    netip.Addr
	Refused map[string]lb.Refusal
}

// State is how this node stands to a VIP.
type State uint8

const (
	// Orphan: nobody is known to own the address, and this node doesn't (yet).
	Orphan State = iota
	// Standby: another node owns the address.
	Standby
	// Owner: this node owns the address and answers for it.
	Owner
	// HandingOver: still owner, has asked a target to take over.
	HandingOver
	// Suspended: this node owned the address before it was paused and may have
	// been replaced meanwhile. It still claims it, but must not answer for it.
	Suspended
)

func (s State) String() string {
	switch s {
	case Orphan:
		return "orphan"
	case Standby:
		return "standby"
	case Owner:
		return "owner"
	case HandingOver:
		return "handing_over"
	case Suspended:
		return "suspended"
	}
	return "unknown"
}

// Answers reports whether a node in that state answers for the address.
func (s State) Answers() bool { return s == Owner || s == HandingOver }

// Ownership is the Machine's view of one VIP.
type Ownership struct {
	Addr  netip.Addr
	State State
	Owner string // node name, "" for an orphan
	Epoch uint64
	Since Time // when this owner and epoch became known
	// Generation changes whenever the network has to be told (again) that this
	// node owns the address: a takeover, a rival heard claiming it.
	Generation uint64
	// First is true when nobody was ever heard to own the address before this
	// node did: it should be probed before it is answered for.
	First bool
	// Candidates are the nodes that may own the address, best first, then those
	// that may not with why.
	Candidates []Candidate
}

// Candidate is a known node and whether it may own a VIP.
type Candidate struct {
	Node    string
	Alive   bool
	Refusal lb.Refusal
}

// Change is why an ownership changed, for logs, counters and tests.
type Change uint8

const (
	// Claimed: nobody had it, this node took it.
	Claimed Change = iota
	// TookOver: claimed on a handover from another node.
	TookOver
	// Yielded: gave it up to a higher epoch, or to a better rank at the same one.
	Yielded
	// HandedOver: gave it up to the target of an own handover.
	HandedOver
	// Released: gave it up because the VIP is gone or this node may not have it.
	Released
	// Contested: a rival with a lower claim was heard; this node keeps it.
	Contested
	// Observed: another node became the owner.
	Observed
	// HandoverStarted and HandoverFailed frame a handover that this node asked for.
	HandoverStarted
	HandoverFailed
	// Paused: this node did not run for longer than the dead time; it does not
	// answer until it has listened. Resumed: nobody had replaced it.
	Paused
	Resumed
	numChanges
)

// Changes is how many kinds of change there are.
const Changes = int(numChanges)

var changeNames = [numChanges]string{
	"claimed", "took_over", "yielded", "handed_over", "released", "contested",
	"observed", "handover_started", "handover_failed", "paused", "resumed",
}

func (c Change) String() string { return changeNames[c] }

// Transition is one change of one VIP's ownership.
type Transition struct {
	Addr   netip.Addr
	Change Change
	From   string // the owner before, or ""
	To     string // the owner after, or ""
	Epoch  uint64
}
