package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VIP reports on one service address. Fairlead writes it, on transitions only;
// nobody needs to create one.
type VIP struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VIPSpec   `json:"spec,omitempty"`
	Status VIPStatus `json:"status,omitempty"`
}

// VIPSpec is which address the object is about.
type VIPSpec struct {
	// Address in canonical form (RFC 5952 for IPv6).
	Address string `json:"address"`
}

// VIPStatus is who announces the address and why others don't.
type VIPStatus struct {
	// Owner is the name of the node that announces the address, or empty.
	Owner string `json:"owner,omitempty"`
	// Epoch counts the owners of the address; it only rises.
	Epoch int64 `json:"epoch,omitempty"`
	// Since is when the owner became it.
	Since *metav1.Time `json:"since,omitempty"`
	// Interface is the owner's, and MAC the hardware address that it tells.
	Interface string `json:"interface,omitempty"`
	MAC       string `json:"mac,omitempty"`
	// Services are those on the address, as namespace/name, sorted.
	Services []string `json:"services,omitempty"`
	// Candidates are the nodes that could announce the address, best first,
	// then those that can't with the reason.
	Candidates []VIPCandidate `json:"candidates,omitempty"`
	// Conditions say why the address is not announced, or contested.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VIPCandidate is a node and why it may not announce the address.
type VIPCandidate struct {
	Node string `json:"node"`
	// Reason is a word such as node_not_ready; empty for a candidate.
	Reason string `json:"reason,omitempty"`
}
