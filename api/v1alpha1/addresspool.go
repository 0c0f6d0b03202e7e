package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AddressPool is a set of addresses that Services may have.
type AddressPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AddressPoolSpec   `json:"spec,omitempty"`
	Status AddressPoolStatus `json:"status,omitempty"`
}

// AddressPoolSpec says which addresses the pool has and who may have them.
type AddressPoolSpec struct {
	// Addresses are prefixes (10.0.0.0/28, without host bits), inclusive ranges
	// (10.0.0.1-10.0.0.9) and single addresses, of both families.
	Addresses []string `json:"addresses"`
	// AutoAssign lets Services that ask for nothing have an address of the
	// pool. Default true.
	AutoAssign *bool `json:"autoAssign,omitempty"`
	// Priority orders the pools for automatic assignment: lower first, then by
	// name. Default 0.
	Priority int32 `json:"priority,omitempty"`
	// AvoidBuggyIPs withholds IPv4 addresses that end in .0 and .255, which
	// some old equipment takes for network and broadcast addresses. Default
	// false.
	AvoidBuggyIPs bool `json:"avoidBuggyIPs,omitempty"`
	// ServiceSelector restricts the pool to Services with matching labels.
	// Default: all.
	ServiceSelector *metav1.LabelSelector `json:"serviceSelector,omitempty"`
	// NamespaceSelector restricts the pool to Services in namespaces with
	// matching labels. Default: all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// AddressPoolStatus is how full the pool is.
type AddressPoolStatus struct {
	// Total is how many addresses the pool has, at most 2^63-1.
	Total int64 `json:"total,omitempty"`
	// Assigned is how many of them Services have.
	Assigned int64 `json:"assigned,omitempty"`
	// Conditions say what is wrong with the pool.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
