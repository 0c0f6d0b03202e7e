package announce

import (
	"github.com/fairlead-lb/fairlead/internal/bpf"
	"github.com/fairlead-lb/fairlead/internal/packet"
)

// Ignored is why a frame got no answer. Behind the reasons named here come
// those of [packet.Refusal], for frames that could not be parsed.
type Ignored uint8

// The reasons. Their strings are metric labels.
const (
	// Heeded is no reason: the frame was answered.
	Heeded Ignored = iota

	// Counted by the filter in the kernel; the frame wakes nobody.

	OtherHost    // for another station, or tagged for a VLAN that is nobody's here
	Malformed    // not readable as far as the addresses
	NotRequest   // an answer that doesn't concern a VIP
	NotAnnounced // a question about an address that isn't announced here

	// Counted after reading.

	VLANTagged    // carries a VLAN tag
	NotYet        // the address is being probed, or is a stranger's
	Reflected     // our own frame, come back
	MemberClaim   // another node of the cluster speaks for the address
	StrangerClaim // somebody else claims the address
	RateLimited   // the answer would go to a group, and there were too many
	Fenced        // nobody has vouched for our ownership lately

	numIgnored
)

// IgnoredReasons is how many reasons there are, for arrays indexed by reason.
const IgnoredReasons = int(numIgnored) + packet.Refusals - 1

var ignoredNames = [numIgnored]string{
	Heeded:        "none",
	OtherHost:     "other_host",
	Malformed:     "malformed",
	NotRequest:    "not_request",
	NotAnnounced:  "not_announced",
	VLANTagged:    "vlan_tagged",
	NotYet:        "not_yet",
	Reflected:     "reflected",
	MemberClaim:   "member_claim",
	StrangerClaim: "stranger_claim",
	RateLimited:   "rate_limited",
	Fenced:        "fenced",
}

func (i Ignored) String() string {
	if i < numIgnored {
		return ignoredNames[i]
	}
	return packet.Refusal(i - numIgnored + 1).String()
}

// refused is the reason for a frame that could not be parsed; r is not
// [packet.Accepted].
func refused(r packet.Refusal) Ignored { return numIgnored + Ignored(r) - 1 }

// kernelReasons translates what the filter in the kernel counts.
var kernelReasons = [bpf.AnnounceIgnoredIGNORED_MAX]Ignored{
	bpf.AnnounceIgnoredIGNORED_OTHER_HOST:    OtherHost,
	bpf.AnnounceIgnoredIGNORED_MALFORMED:     Malformed,
	bpf.AnnounceIgnoredIGNORED_NOT_REQUEST:   NotRequest,
	bpf.AnnounceIgnoredIGNORED_NOT_NDP:       numIgnored + Ignored(packet.NotNDP) - 1,
	bpf.AnnounceIgnoredIGNORED_NOT_ANNOUNCED: NotAnnounced,
}

// Sent is what kind of frame was sent.
type Sent uint8

// The kinds. Their strings are metric labels.
const (
	SentNothing       Sent = iota
	SentReply              // to one station that asked
	SentGroupReply         // to all nodes, because duplicate address detection asked
	SentRequestForm        // gratuitous ARP as a request
	SentReplyForm          // gratuitous ARP as a reply
	SentAdvertisement      // unsolicited neighbour advertisement
	SentProbe              // does a stranger have the address?
	SentDefence            // a stranger claims the address: contradicted
	SentFailed             // the kernel took no frame
	numSent
)

var sentNames = [numSent]string{
	SentNothing:       "none",
	SentReply:         "reply",
	SentGroupReply:    "group_reply",
	SentRequestForm:   "gratuitous_request",
	SentReplyForm:     "gratuitous_reply",
	SentAdvertisement: "advertisement",
	SentProbe:         "probe",
	SentDefence:       "defence",
	SentFailed:        "failed",
}

func (s Sent) String() string { return sentNames[s] }
