package convert

import (
	"slices"
	"strings"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// reportTorn warns of addresses that no node can serve all clients of. It tells
// the first of the Services that have to be served where their endpoints are.
func (c *converter) reportTorn(s *lb.Snapshot) {
	for _, v := range s.VIPs() {
		if !v.Torn {
			continue
		}
		var names []string
		for _, svc := range s.Services {
			if svc.LocalOnly && slices.Contains(svc.Addresses, v.Addr) {
				names = append(names, svc.Name.String())
			}
		}
		r := report{c, "Service " + names[0]}
		const field = "spec.externalTrafficPolicy"
		if len(names) == 1 {
			r.warned(lb.NoCommonNode, field, "%s: no node has endpoints of every port of Service %s, some clients will not be served: "+
				"put the ports on addresses of their own, in a Service each", v.Addr, names[0])
			continue
		}
		r.warned(lb.NoCommonNode, field, "%s: no node has endpoints of all of the Services %s, some clients will not be served: "+
			"put the Services on addresses of their own", v.Addr, strings.Join(names, ", "))
	}
}
