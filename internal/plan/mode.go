package plan

import "net/netip"

// Mode is how packets get from a director to a delivery node.
type Mode uint8

// The modes. Their strings are the values that people write.
const (
	ModeAuto  Mode = iota // l2 on the same segment, else gue; in no State
	ModeLocal             // the node itself: no way to go
	ModeL2                // rewrite MACs
	ModeGUE               // generic UDP encapsulation, version 0
	ModeIPIP              // IP in IP, all four combinations of families
	ModeGRE               // GRE without options
	ModeDSCP              // rewrite the destination, a DSCP stands for the VIP
	ModeNone              // no way is known
	numModes
)

var modeNames = [numModes]string{
	ModeAuto:  "auto",
	ModeLocal: "local",
	ModeL2:    "l2",
	ModeGUE:   "gue",
	ModeIPIP:  "ipip",
	ModeGRE:   "gre",
	ModeDSCP:  "dscp",
	ModeNone:  "none",
}

func (m Mode) String() string { return modeNames[m] }

// ParseMode is the inverse of [Mode.String] for the modes that can be asked for.
func ParseMode(s string) (Mode, bool) {
	for _, m := range []Mode{ModeAuto, ModeL2, ModeGUE, ModeIPIP, ModeGRE, ModeDSCP} {
		if m.String() == s {
			return m, true
		}
	}
	return ModeAuto, false
}

// Tunnelled reports whether m encapsulates.
func (m Mode) Tunnelled() bool { return m == ModeGUE || m == ModeIPIP || m == ModeGRE }

// Overhead is how many bytes m adds to a packet when the outer addresses are
// of the family of outer.
func (m Mode) Overhead(outer netip.Addr) int {
	ip := 20
	if outer.Is6() {
		ip = 40
	}
	switch m {
	case ModeGUE:
		return ip + 8 + 4 // UDP, and GUE without optional fields
	case ModeIPIP:
		return ip
	case ModeGRE:
		return ip + 4
	}
	return 0
}
