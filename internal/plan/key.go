package plan

import (
	"cmp"
	"net/netip"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// key is what a client names a service by.
type key struct {
	vip   netip.Addr
	proto lb.Protocol
	port  uint16
}

func (s *Service) key() key { return key{s.VIP, s.Protocol, s.Port} }

func (k key) compare(o key) int {
	return cmp.Or(k.vip.Compare(o.vip), cmp.Compare(k.port, o.port), cmp.Compare(k.proto, o.proto))
}
