package convert

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// addEndpoints gives every port of the Services the endpoints that their
// EndpointSlices list. Endpoints of both families are kept in one list: an IPv6
// endpoint serves the IPv6 VIPs of its Service, an IPv4 one the IPv4 VIPs.
func (c *converter) addEndpoints(services []*served, eps []*discoveryv1.EndpointSlice) {
	vips := make(map[netip.Addr]lb.ObjectName)
	byName := make(map[lb.ObjectName]*served, len(services))
	for _, s := range services {
		byName[s.model.Name] = s
		for _, a := range s.model.Addresses {
			vips[a] = s.model.Name
		}
	}
	for _, slice := range eps {
		r := c.report("EndpointSlice", slice)
		name := slice.Labels[discoveryv1.LabelServiceName]
		if name == "" {
			r.refused(lb.EndpointInvalid, "metadata.labels", "the label %s is missing: write the name of the Service", discoveryv1.LabelServiceName)
			continue
		}
		if s := byName[lb.ObjectName{Namespace: slice.Namespace, Name: name}]; s != nil {
			c.addSlice(s, slice, r, vips)
		}
	}
	for _, s := range services {
		for i := range s.model.Ports {
			p := &s.model.Ports[i]
			p.Endpoints = uniqueEndpoints(p.Endpoints)
		}
	}
}

// addSlice adds the endpoints of one slice to the ports of its Service. The
// port number comes from the slice: spec.ports[].targetPort is an input of
// whoever wrote the slice, and named ports differ from pod to pod.
func (c *converter) addSlice(s *served, slice *discoveryv1.EndpointSlice, r report, vips map[netip.Addr]lb.ObjectName) {
	endpoints := c.convertEndpoints(s, slice, r, vips)
	for i, p := range slice.Ports {
		field := func(name string) string { return fmt.Sprintf("ports[%d].%s", i, name) }
		proto, ok := lb.TCP, true
		if p.Protocol != nil {
			proto, ok = protocol(*p.Protocol)
		}
		if !ok {
			r.refused(lb.PortInvalid, field("protocol"), "%q is unknown: write TCP, UDP or SCTP", *p.Protocol)
			continue
		}
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		at := slices.IndexFunc(s.model.Ports, func(sp lb.ServicePort) bool { return sp.Name == name && sp.Protocol == proto })
		if at < 0 {
			continue // a port that the Service doesn't offer
		}
		if p.Port == nil {
			r.refused(lb.PortInvalid, field("port"), "the number is missing: write 1 to 65535")
			continue
		}
		if *p.Port < 1 || *p.Port > 65535 {
			r.refused(lb.PortInvalid, field("port"), "%d is no port: write 1 to 65535", *p.Port)
			continue
		}
		for _, e := range endpoints {
			e.Addr = netip.AddrPortFrom(e.Addr.Addr(), uint16(*p.Port))
			s.model.Ports[at].Endpoints = append(s.model.Ports[at].Endpoints, e)
		}
	}
}

// convertEndpoints converts the endpoints of a slice, without ports.
func (c *converter) convertEndpoints(s *served, slice *discoveryv1.EndpointSlice, r report, vips map[netip.Addr]lb.ObjectName) []lb.Endpoint {
	family := slice.AddressType
	switch family {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
	case "":
		r.warned(lb.EndpointInvalid, "addressType", "it is missing, taken from each address: write IPv4 or IPv6")
	default:
		r.refused(lb.EndpointInvalid, "addressType", "%q can't be served: write IPv4 or IPv6 and addresses", family)
		return nil
	}
	var out []lb.Endpoint
	for i, ep := range slice.Endpoints {
		if len(ep.Addresses) == 0 {
			r.refused(lb.EndpointInvalid, fmt.Sprintf("endpoints[%d].addresses", i), "it is empty: write one address")
			continue
		}
		// More than one address has no defined meaning; like kube-proxy, use
		// the first.
		field := fmt.Sprintf("endpoints[%d].addresses[0]", i)
		a, err := parseAddr(strings.TrimSpace(ep.Addresses[0]))
		if err != nil {
			r.refused(lb.EndpointInvalid, field, "%v", err)
			continue
		}
		if what := notUnicast(a); what != "" {
			r.refused(lb.EndpointInvalid, field, "%s is %s: write the address of a pod or a node", a, what)
			continue
		}
		if family != "" && a.Is4() != (family == discoveryv1.AddressTypeIPv4) {
			r.refused(lb.EndpointInvalid, field, "%s is not of addressType %s: write it in a slice of its own", a, family)
			continue
		}
		if holder, ok := vips[a]; ok {
			r.refused(lb.EndpointInvalid, field, "%s is a VIP, of Service %s: write the address of a pod or a node", a, holder)
			continue
		}
		e := lb.Endpoint{Addr: netip.AddrPortFrom(a, 0)}
		e.Ready, e.Serving, e.Terminating = conditions(ep.Conditions)
		if ep.NodeName != nil {
			e.Node = *ep.NodeName
		}
		c.checkNode(s, e, r, fmt.Sprintf("endpoints[%d].nodeName", i))
		out = append(out, e)
	}
	return out
}

// conditions reads the conditions as the EndpointSlice API defines them: ready
// is true unless it says otherwise, serving is ready unless it says otherwise.
func conditions(c discoveryv1.EndpointConditions) (ready, serving, terminating bool) {
	ready = c.Ready == nil || *c.Ready
	serving = ready
	if c.Serving != nil {
		serving = *c.Serving
	}
	terminating = c.Terminating != nil && *c.Terminating
	return ready, serving, terminating
}

// checkNode warns of an endpoint that has no node to be delivered on. A
// kube-proxy reaches it all the same, unless it has to be local.
func (c *converter) checkNode(s *served, e lb.Endpoint, r report, field string) {
	if c.nodes[e.Node] || s.model.Forwarding == lb.ForwardingKubeProxy && !s.model.LocalOnly {
		return
	}
	if e.Node == "" {
		r.warned(lb.EndpointNoNode, field, "%s: no nodeName: cannot deliver; use forwarding kube-proxy", e.Addr.Addr())
		return
	}
	r.warned(lb.EndpointNoNode, field, "%s: there is no Node %q: cannot deliver; use forwarding kube-proxy", e.Addr.Addr(), e.Node)
}

// uniqueEndpoints sorts endpoints and keeps one of each address and port. An
// endpoint may be in two slices for a while; the one in the better state is the
// newer truth more often than not.
func uniqueEndpoints(endpoints []lb.Endpoint) []lb.Endpoint {
	slices.SortFunc(endpoints, func(a, b lb.Endpoint) int {
		return cmp.Or(a.Addr.Compare(b.Addr), first(a.Ready, b.Ready), first(a.Serving, b.Serving),
			first(b.Terminating, a.Terminating), -cmp.Compare(a.Node, b.Node))
	})
	return slices.CompactFunc(endpoints, func(a, b lb.Endpoint) bool { return a.Addr == b.Addr })
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
