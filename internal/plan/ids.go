package plan

// NodeID, VIPID, ServiceID and EndpointID are the numbers by which maps refer
// to each other. 0 is unset. A number is given out once: the counters in [IDs]
// only rise, so that an entry that somebody still refers to can be found
// missing, but never to be something else.
type (
	NodeID     uint32
	VIPID      uint32
	ServiceID  uint32
	EndpointID uint32
)

// IDs are the last numbers that were given out.
type IDs struct {
	Node     NodeID
	VIP      VIPID
	Service  ServiceID
	Endpoint EndpointID
}
