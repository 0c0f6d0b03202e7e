package convert

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// claim is a Service's wish for an address that is fine by itself.
type claim struct {
	*served
	addr      netip.Addr
	field     string
	requested bool // by annotation or spec; else the status says that it is live
	position  int  // in the Service's own list
}

// wish is an address as a Service writes it.
type wish struct {
	text, field string
}

// wishes returns the addresses that the Service has or wants: those of its
// status (somebody gave them to it), else those of the annotation, else that of
// spec.loadBalancerIP.
func wishes(s *served) (list []wish, requested bool) {
	for i, in := range s.object.Status.LoadBalancer.Ingress {
		if in.IP != "" { // else a hostname, which is for others to resolve
			list = append(list, wish{in.IP, fmt.Sprintf("status.loadBalancer.ingress[%d].ip", i)})
		}
	}
	if len(list) > 0 {
		return list, false
	}
	if v := s.object.Annotations[v1alpha1.AnnotationAddresses]; strings.TrimSpace(v) != "" {
		for text := range strings.SplitSeq(v, ",") {
			list = append(list, wish{text, annotationField(v1alpha1.AnnotationAddresses)})
		}
		return list, true
	}
	if ip := s.object.Spec.LoadBalancerIP; strings.TrimSpace(ip) != "" {
		list = append(list, wish{ip, "spec.loadBalancerIP"})
	}
	return list, true
}

// claims returns the addresses of a Service that may be served as far as other
// Services of ours don't matter.
func (c *converter) claims(s *served) []claim {
	list, requested := wishes(s)
	if len(list) == 0 {
		s.report.warned(lb.NoAddress, "", "has no address: write status.loadBalancer.ingress, the annotation %s or spec.loadBalancerIP",
			v1alpha1.AnnotationAddresses)
	}
	var out []claim
	for _, w := range list {
		a, err := parseAddr(strings.TrimSpace(w.text))
		if err != nil {
			s.report.refused(lb.AddressInvalid, w.field, "%v", err)
			continue
		}
		if slices.ContainsFunc(out, func(o claim) bool { return o.addr == a }) {
			continue
		}
		if what := notUnicast(a); what != "" {
			s.report.refusedAddr(lb.AddressNotUnicast, a, w.field, "%s is %s: write an address of your network", a, what)
			continue
		}
		if node, ok := c.nodeAddr[a]; ok {
			s.report.refusedAddr(lb.AddressIsNode, a, w.field, "%s is the address of node %s: write one that no machine has", a, node)
			continue
		}
		if other, ok := c.foreign[a]; ok {
			s.report.refusedAddr(lb.AddressShared, a, w.field,
				"%s is in use by Service %s of another load balancer: write another address", a, other)
			continue
		}
		if why := c.outsidePools(s, a); why != "" {
			if requested {
				s.report.refusedAddr(lb.AddressOutsidePools, a, w.field, "%s %s: write one of a pool, or extend the pool", a, why)
				continue
			}
			s.report.warned(lb.AddressOutsidePools, w.field, "%s %s; it is served because the status has it", a, why)
		}
		out = append(out, claim{served: s, addr: a, field: w.field, requested: requested, position: len(out)})
	}
	return out
}

// outsidePools says why the pools don't allow a, or "".
func (c *converter) outsidePools(s *served, a netip.Addr) string {
	if name := s.object.Annotations[v1alpha1.AnnotationPool]; name != "" {
		for _, p := range c.pools {
			if p.Name == name && p.Contains(a) {
				return ""
			}
		}
		return fmt.Sprintf("is not in AddressPool %s, which the annotation %s names", name, v1alpha1.AnnotationPool)
	}
	if len(c.pools) == 0 || slices.ContainsFunc(c.pools, func(p lb.Pool) bool { return p.Contains(a) }) {
		return ""
	}
	return "is in no AddressPool"
}

// settle decides who has which address and writes it to the Services. Live
// addresses go before requested ones, so that nobody's request takes an address
// from under a running Service; then the older Service goes first.
func settle(claims []claim) {
	slices.SortFunc(claims, func(a, b claim) int {
		if a.requested != b.requested {
			if b.requested {
				return -1
			}
			return 1
		}
		return cmp.Or(older(a.object, b.object), cmp.Compare(a.position, b.position))
	})
	holders := make(map[netip.Addr][]*served)
	for _, cl := range claims {
		if cl.yields(holders[cl.addr]) {
			continue
		}
		holders[cl.addr] = append(holders[cl.addr], cl.served)
		cl.model.Addresses = append(cl.model.Addresses, cl.addr)
	}
}

// yields reports whether the holders of the address keep the claim from being
// granted, and records why.
func (cl claim) yields(holders []*served) bool {
	for _, h := range holders {
		for _, p := range cl.model.Ports {
			if slices.ContainsFunc(h.model.Ports, func(o lb.ServicePort) bool { return o.Port == p.Port && o.Protocol == p.Protocol }) {
				cl.report.refusedAddr(lb.PortTaken, cl.addr, cl.field,
					"%d/%s on %s belongs to Service %s: write another port or another address", p.Port, p.Protocol, cl.addr, h.model.Name)
				return true
			}
		}
	}
	for _, h := range holders {
		key := cl.model.SharingKey
		if cl.requested && (key == "" || key != h.model.SharingKey) {
			cl.report.refusedAddr(lb.AddressShared, cl.addr, cl.field,
				"%s belongs to Service %s: write another address, or the same %s on both", cl.addr, h.model.Name, v1alpha1.AnnotationSharingKey)
			return true
		}
	}
	return false
}
