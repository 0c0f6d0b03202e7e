package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// served is a Service of ours on its way to the model.
type served struct {
	object *corev1.Service
	report report
	model  lb.Service
}

// ours reports whether Fairlead serves the Service. A status that somebody
// wrote before the type changed doesn't make it so.
func ours(svc *corev1.Service) bool {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return false
	}
	class := svc.Spec.LoadBalancerClass
	return class == nil || *class == "" || *class == v1alpha1.LoadBalancerClass
}

// convertServices converts the Services that are ours, in passes over all of
// them: first what each is by itself, then which address is whose, and last the
// endpoints, which must not be anybody's VIP.
func (c *converter) convertServices(services []*corev1.Service, eps []*discoveryv1.EndpointSlice) []lb.Service {
	var mine []*served
	for _, svc := range services {
		switch {
		case ours(svc):
			mine = append(mine, &served{object: svc, report: c.report("Service", svc)})
		case svc.Spec.Type == corev1.ServiceTypeLoadBalancer:
			c.rememberForeign(svc)
		default:
			checkType(c.report("Service", svc), svc.Spec.Type)
		}
	}
	var claims []claim
	for _, s := range mine {
		s.model = c.convertService(s)
		claims = append(claims, c.claims(s)...)
	}
	settle(claims)
	c.addEndpoints(mine, eps)
	out := make([]lb.Service, 0, len(mine))
	for _, s := range mine {
		out = append(out, s.model)
	}
	return out
}

// checkType warns of a type that Kubernetes doesn't have: it may have been
// meant as LoadBalancer.
func checkType(r report, t corev1.ServiceType) {
	switch t {
	case "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName:
		return
	}
	r.warned(lb.ValueInvalid, "spec.type", "%q is unknown, the Service is passed over: write LoadBalancer to have it served, or ClusterIP, NodePort or ExternalName", t)
}

// rememberForeign notes which addresses another implementation has given to
// its Service: they are in use, however they are spelled.
func (c *converter) rememberForeign(svc *corev1.Service) {
	for _, in := range svc.Status.LoadBalancer.Ingress {
		a, err := netip.ParseAddr(strings.TrimSpace(in.IP))
		if err != nil {
			continue
		}
		a = a.Unmap().WithZone("")
		if _, known := c.foreign[a]; !known {
			c.foreign[a] = nameOf(svc)
		}
	}
}

// convertService converts everything but addresses and endpoints.
func (c *converter) convertService(s *served) lb.Service {
	spec := &s.object.Spec
	out := lb.Service{
		Name:       nameOf(s.object),
		Ports:      convertPorts(s.report, spec.Ports),
		SharingKey: s.object.Annotations[v1alpha1.AnnotationSharingKey],
		Restricted: len(spec.LoadBalancerSourceRanges) > 0,
	}
	switch policy := spec.ExternalTrafficPolicy; policy {
	case corev1.ServiceExternalTrafficPolicyLocal:
		out.LocalOnly = true
	case "", corev1.ServiceExternalTrafficPolicyCluster:
	default:
		s.report.warned(lb.ValueInvalid, "spec.externalTrafficPolicy", "%q is unknown, taken as Cluster: write Cluster or Local", policy)
	}
	switch affinity := spec.SessionAffinity; affinity {
	case corev1.ServiceAffinityClientIP:
		out.AffinityTimeout = affinityTimeout(s.report, spec.SessionAffinityConfig)
	case "", corev1.ServiceAffinityNone:
	default:
		s.report.warned(lb.ValueInvalid, "spec.sessionAffinity", "%q is unknown, taken as None: write None or ClientIP", affinity)
	}
	if v, ok := s.object.Annotations[v1alpha1.AnnotationForwarding]; ok {
		if out.Forwarding, ok = lb.ParseForwarding(v); !ok {
			s.report.warned(lb.ForwardingInvalid, annotationField(v1alpha1.AnnotationForwarding),
				"%q is unknown, the agent's default is used: write dsr or kube-proxy", v)
		}
	}
	out.SourceRanges = sourceRanges(s.report, spec.LoadBalancerSourceRanges)
	return out
}

// affinityTimeout is the life of a client's affinity: Kubernetes allows one
// second to one day and has a default of three hours.
func affinityTimeout(r report, config *corev1.SessionAffinityConfig) time.Duration {
	seconds := int32(corev1.DefaultClientIPServiceAffinitySeconds)
	if config != nil && config.ClientIP != nil && config.ClientIP.TimeoutSeconds != nil {
		if t := *config.ClientIP.TimeoutSeconds; t >= 1 && t <= 86400 {
			seconds = t
		} else {
			r.warned(lb.ValueInvalid, "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
				"%d is out of bounds, %d is used: write 1 to 86400", t, seconds)
		}
	}
	return time.Duration(seconds) * time.Second
}

// sourceRanges reads loadBalancerSourceRanges. What can't be read admits
// nobody: the Service is restricted as soon as the list has an entry.
func sourceRanges(r report, entries []string) []netip.Prefix {
	var out []netip.Prefix
	for i, s := range entries {
		field := fmt.Sprintf("spec.loadBalancerSourceRanges[%d]", i)
		p, err := parsePrefix(strings.TrimSpace(s))
		if err != nil {
			r.refused(lb.SourceRangeInvalid, field, "%v; it admits nobody", err)
			continue
		}
		if p != p.Masked() {
			r.warned(lb.SourceRangeInvalid, field, "%s has host bits set, taken as %s: write %s for the one address",
				p, p.Masked(), netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
		}
		out = append(out, p.Masked())
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return slices.Compact(out)
}

// protocol reads the protocol of a port; empty is TCP.
func protocol(p corev1.Protocol) (lb.Protocol, bool) {
	switch p {
	case "", corev1.ProtocolTCP:
		return lb.TCP, true
	case corev1.ProtocolUDP:
		return lb.UDP, true
	case corev1.ProtocolSCTP:
		return lb.SCTP, true
	}
	return 0, false
}

// convertPorts converts the ports, without endpoints. EndpointSlices refer to
// them by name and protocol, so that pair must be unique, and so must be what
// clients see.
func convertPorts(r report, ports []corev1.ServicePort) []lb.ServicePort {
	if len(ports) == 0 {
		r.warned(lb.PortInvalid, "spec.ports", "it is empty, nothing is served: write a port")
	}
	var out []lb.ServicePort
	for i, p := range ports {
		field := func(name string) string { return fmt.Sprintf("spec.ports[%d].%s", i, name) }
		proto, ok := protocol(p.Protocol)
		if !ok {
			r.refused(lb.PortInvalid, field("protocol"), "%q is unknown: write TCP, UDP or SCTP", p.Protocol)
			continue
		}
		if p.Port < 1 || p.Port > 65535 {
			r.refused(lb.PortInvalid, field("port"), "%d is no port: write 1 to 65535", p.Port)
			continue
		}
		port := lb.ServicePort{Name: p.Name, Protocol: proto, Port: uint16(p.Port)}
		if slices.ContainsFunc(out, func(o lb.ServicePort) bool { return o.Port == port.Port && o.Protocol == proto }) {
			r.refused(lb.PortInvalid, field("port"), "%d/%s is listed twice: leave one out", port.Port, proto)
			continue
		}
		if slices.ContainsFunc(out, func(o lb.ServicePort) bool { return o.Name == port.Name && o.Protocol == proto }) {
			r.refused(lb.PortInvalid, field("name"), "another %s port has the name %q: write a name for each, EndpointSlices refer to it", proto, port.Name)
			continue
		}
		out = append(out, port)
	}
	return out
}
