package plan

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/maglev"
)

// State is everything that the programs of a node read. It is a value: nothing
// in it is written to once [Plan] has returned it.
type State struct {
	Seed     uint64
	Self     NodeID
	MACs     []lb.MAC // of the uplinks; the first one is what frames are sent from
	Routers  []lb.MAC // whose dscp frames count as directed; empty if nobody uses dscp from afar
	Nodes    []Node   // sorted by name
	VIPs     []VIP    // sorted by address
	Services []Service
	IDs      IDs
	Problems []Problem // sorted
}

// Node is a member of the cluster and the way to it.
type Node struct {
	ID   NodeID
	Name string
	Mode Mode
	MAC  lb.MAC // where frames for it go: its own, or the next hop's
	// OnSegment is true when frames from MAC are frames from this node.
	OnSegment bool
	// Addrs are the addresses that tunnelled packets may come from; the first
	// one is where they go to.
	Addrs []netip.Addr
	MTU   int // of the path to it, in bytes
}

// VIP is an address that clients send to.
type VIP struct {
	ID   VIPID
	Addr netip.Addr
	// Marks are what Addr is called after 1 … [MaxHops] hops; zero if another
	// VIP has one of these marks, and then nothing is passed on for this one.
	Marks [MaxHops]netip.Addr
	// DSCP is the code point that stands for the VIP, 1 … 63, or 0.
	DSCP uint8
}

// Flags of a service.
type Flags uint8

// The flags.
const (
	Affinity   Flags = 1 << iota // sessionAffinity: ClientIP
	Restricted                   // only Sources may use it, if any
	LocalOnly                    // externalTrafficPolicy: Local
	NoEndpoint                   // no endpoint takes new flows: refuse them at once
	PassUp                       // left to the service proxy of the node
)

var flagNames = []string{"affinity", "restricted", "local-only", "no-endpoint", "pass-up"}

// Service is a port of a VIP.
type Service struct {
	ID       ServiceID
	Name     lb.ObjectName
	VIP      netip.Addr
	Port     uint16
	Protocol lb.Protocol
	Flags    Flags
	// AffinityTimeout is > 0 with Affinity. Affinity is a hash of the client's
	// address and needs no timer; the value is for people.
	AffinityTimeout time.Duration
	Sources         []netip.Prefix // of the VIP's family, masked, sorted
	// Endpoints are those of History.Table, in its order.
	Endpoints []Endpoint
	// Retired are endpoints whose port has left the service while their
	// address has not: old flows keep them.
	Retired []Endpoint
	History maglev.History
}

// Endpoint is a place that a service port sends to.
type Endpoint struct {
	ID     EndpointID
	Addr   netip.AddrPort
	Node   NodeID
	Active bool // takes new flows
	// Usable is true when flows may stay that never end by themselves (UDP):
	// the endpoint is ready, or serves while it terminates.
	Usable bool
}

// node returns the node with that id, or nil.
func (s *State) node(id NodeID) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

// vip returns the VIP with that address, or nil.
func (s *State) vip(a netip.Addr) *VIP {
	i, ok := slices.BinarySearchFunc(s.VIPs, a, func(v VIP, a netip.Addr) int { return v.Addr.Compare(a) })
	if !ok {
		return nil
	}
	return &s.VIPs[i]
}

// marked returns the VIP and the hop that a mark stands for, or nil.
func (s *State) marked(a netip.Addr) (v *VIP, hop int) {
	for i := range s.VIPs {
		if h := slices.Index(s.VIPs[i].Marks[:], a); h >= 0 {
			return &s.VIPs[i], h + 1
		}
	}
	return nil, 0
}

// service returns the service on that port, or nil.
func (s *State) service(vip netip.Addr, port uint16, proto lb.Protocol) *Service {
	i, ok := slices.BinarySearchFunc(s.Services, key{vip, proto, port}, func(s Service, k key) int { return s.key().compare(k) })
	if !ok {
		return nil
	}
	return &s.Services[i]
}

// endpoint returns the endpoint with that id, retired ones included, or nil.
func (s *Service) endpoint(id EndpointID) *Endpoint {
	for _, list := range [][]Endpoint{s.Endpoints, s.Retired} {
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
		}
	}
	return nil
}

// permits reports whether a client may use the service.
func (s *Service) permits(client netip.Addr) bool {
	if s.Flags&Restricted == 0 {
		return true
	}
	return slices.ContainsFunc(s.Sources, func(p netip.Prefix) bool { return p.Contains(client) })
}
