package lb

import (
	"net/netip"
	"time"
)

// Node is a machine of the cluster as its Node object describes it.
type Node struct {
	Name      string
	Addresses []netip.Addr // InternalIPs
	Labels    map[string]string

	// NotReady is true when the condition Ready is present and not True. A
	// manifest without conditions (standalone) is a ready node.
	NotReady bool
	// Excluded is the label node.kubernetes.io/exclude-from-external-load-balancers.
	Excluded bool
	// Draining is the annotation fairlead.dev/drain: "true".
	Draining bool
}

// Pool is an AddressPool.
type Pool struct {
	Name       string
	Ranges     []Range
	AutoAssign bool
	Priority   int32
}

// Contains reports whether one of the pool's ranges has a.
func (p Pool) Contains(a netip.Addr) bool {
	for _, r := range p.Ranges {
		if r.Contains(a) {
			return true
		}
	}
	return false
}

// Range is an inclusive range of addresses of one family, From <= To.
type Range struct {
	From, To netip.Addr
}

// Contains reports whether a lies in the range.
func (r Range) Contains(a netip.Addr) bool {
	return a.Is4() == r.From.Is4() && r.From.Compare(a) <= 0 && a.Compare(r.To) <= 0
}

// Overlaps reports whether the two ranges share an address.
func (r Range) Overlaps(o Range) bool {
	return r.From.Is4() == o.From.Is4() && r.From.Compare(o.To) <= 0 && o.From.Compare(r.To) <= 0
}

func (r Range) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + "-" + r.To.String()
}

// Announcement is an Announcement object: who may announce which pools where.
type Announcement struct {
	Name  string
	Pools []string // names; empty: all
	// NodeSelector selects by label equality, set-based expressions included;
	// nil selects every node.
	NodeSelector *Selector
	Interfaces   []string // names or globs (path.Match); empty: automatic
	Membership   string   // "heartbeat", "lease" or "" (the agent's default)
	Gratuitous   Gratuitous
}

// Gratuitous is a schedule of unsolicited announcements. A zero field leaves
// it to the announcer.
type Gratuitous struct {
	Count   int           // how many on a takeover
	Spacing time.Duration // between two of them
	Refresh time.Duration // between two from then on
}
