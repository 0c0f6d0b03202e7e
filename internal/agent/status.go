package agent

// Status is the agent's view for people and tools: what `fairlead status -o
// json` prints. Its keys are part of the product's outside.
type Status struct {
	Node     string            `json:"node"`
	Members  []MemberStatus    `json:"members"`
	VIPs     []VIPStatus       `json:"vips"`
	Services []ServiceStatus   `json:"services"`
	Counters map[string]uint64 `json:"counters"`

	// Interfaces says which interfaces announce, and why others don't.
	Interfaces []InterfaceStatus `json:"interfaces"`
	// Problems are one line each: what is wrong with the input and where.
	Problems []string `json:"problems"`
	// SourceError is why the last load of the source was refused, or "".
	SourceError string `json:"sourceError,omitempty"`
	Draining    bool   `json:"draining"`
}

// MemberStatus is one member as heard through one interface.
type MemberStatus struct {
	Node      string `json:"node"`
	Alive     bool   `json:"alive"`
	MAC       string `json:"mac"`
	Interface string `json:"interface"`
	// LastSeenMs is the time since its last heartbeat, in milliseconds; 0 for
	// this node itself.
	LastSeenMs int64 `json:"lastSeenMs"`
	Self       bool  `json:"self,omitempty"`
	// HearsUs is false for a member whose heartbeats don't list this node.
	HearsUs bool `json:"hearsUs"`
	// Reason is a word about a member that is not as it should be, or "".
	Reason string `json:"reason,omitempty"`
}

// VIPStatus is one address on one interface.
type VIPStatus struct {
	Address   string `json:"address"`
	Owner     string `json:"owner"`
	Epoch     uint64 `json:"epoch"`
	Interface string `json:"interface"`
	MAC       string `json:"mac"` // the owner's on this segment
	State     string `json:"state"`
	Reason    string `json:"reason"`

	Services   []string          `json:"services,omitempty"`
	SinceMs    int64             `json:"sinceMs,omitempty"`
	Candidates []CandidateStatus `json:"candidates,omitempty"`
}

// CandidateStatus is a node and whether it may own a VIP; Reason is
// "eligible" or why not.
type CandidateStatus struct {
	Node   string `json:"node"`
	Alive  bool   `json:"alive"`
	Reason string `json:"reason"`
}

// ServiceStatus is one port of a service on one of its addresses.
type ServiceStatus struct {
	Name       string   `json:"name"`
	Address    string   `json:"address"`
	Port       uint16   `json:"port"`
	Protocol   string   `json:"protocol"`
	Forwarding string   `json:"forwarding"`
	Endpoints  []string `json:"endpoints"` // that take new connections, "ip:port"
	TableSize  int      `json:"tableSize"` // slots; 0 without a table of ours
}

// InterfaceStatus is one interface of this node.
type InterfaceStatus struct {
	Name   string `json:"name"`
	MAC    string `json:"mac,omitempty"`
	State  string `json:"state"`  // "announcing" or "unused"
	Reason string `json:"reason"` // why it was chosen or not
}
