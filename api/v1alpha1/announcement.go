package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Announcement says which nodes announce which pools through which interfaces.
// Without any Announcement object everything is announced automatically; with
// one, only what some Announcement covers.
type Announcement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AnnouncementSpec `json:"spec,omitempty"`
}

// AnnouncementSpec is the rule. The zero value covers every pool on every node
// through its automatic interfaces.
type AnnouncementSpec struct {
	// Pools are names of AddressPools. Default: all addresses, those outside
	// every pool included.
	Pools []string `json:"pools,omitempty"`
	// NodeSelector chooses the nodes. Default: all.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// Interfaces are names or globs (eth0, bond*). Default: the interface that
	// holds the node's own address, or those of the agent's --interface.
	Interfaces []string `json:"interfaces,omitempty"`
	// Membership is how the nodes know of each other. Default: the agent's
	// --membership.
	Membership Membership `json:"membership,omitempty"`
	// Gratuitous tunes the unsolicited announcements of a node that has taken
	// an address over.
	Gratuitous *Gratuitous `json:"gratuitous,omitempty"`
}

// Membership is a way for nodes to know which of them are alive.
type Membership string

const (
	// MembershipHeartbeat: authenticated multicast on the segment itself.
	MembershipHeartbeat Membership = "heartbeat"
	// MembershipLease: one Lease per node through the Kubernetes API.
	MembershipLease Membership = "lease"
)

// Gratuitous is the schedule of unsolicited announcements (gratuitous ARP,
// unsolicited neighbour advertisements).
type Gratuitous struct {
	// Count is how many are sent on a takeover, 1 to 60. Default 5.
	Count int32 `json:"count,omitempty"`
	// Spacing is the time between two of them, at least 1.1s: Linux locks an
	// ARP entry for one second after it changed. Default 1.25s.
	Spacing *metav1.Duration `json:"spacing,omitempty"`
	// Refresh is the time between two announcements from then on, at least 1s:
	// switches forget an address that sends nothing. Default 60s.
	Refresh *metav1.Duration `json:"refresh,omitempty"`
}
