package lab

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-lb/fairlead/internal/lab/pod"
	"github.com/fairlead-lb/fairlead/internal/lab/proxy"
	"github.com/fairlead-lb/fairlead/internal/lab/topo"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// service is a Service of the lab: the same pods behind all its ports.
type service struct {
	name  string
	vips  []netip.Addr
	ports []port
}

type port struct {
	name     string
	protocol lb.Protocol
	port     uint16
	target   uint16
}

const (
	webPort  = 80
	echoPort = 7000
)

// webPorts are what the lab's services serve.
func webPorts() []port {
	return []port{
		{"http", lb.TCP, webPort, pod.HTTPPort},
		{"echo", lb.TCP, echoPort, pod.EchoPort},
		{"echo-udp", lb.UDP, echoPort, pod.EchoPort},
	}
}

// baseServices are web and api, each with a VIP of either family.
func baseServices() []service {
	return []service{
		{"web", vips("10.77.0.200", "2001:db8:77::200"), webPorts()},
		{"api", vips("10.77.0.201", "2001:db8:77::201"), webPorts()},
	}
}

// scaleServices are n services with a VIP of either family each.
func scaleServices(n int) []service {
	var services []service
	for i := range n {
		services = append(services, service{
			fmt.Sprintf("s%03d", i),
			[]netip.Addr{
				netip.AddrFrom4([4]byte{10, 77, byte(1 + i/250), byte(i % 250)}),
				netip.MustParseAddr(fmt.Sprintf("2001:db8:77::1:%x", i)),
			},
			webPorts(),
		})
	}
	return services
}

func vips(ss ...string) []netip.Addr {
	var addrs []netip.Addr
	for _, s := range ss {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs
}

// allVIPs returns the addresses of services, sorted.
func allVIPs(services []service) []netip.Addr {
	var addrs []netip.Addr
	for _, s := range services {
		addrs = append(addrs, s.vips...)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs
}

// frontends returns what the service proxy of a node serves when pods are
// behind the services.
func frontends(services []service, pods []topo.Pod) []proxy.Frontend {
	var fs []proxy.Frontend
	for _, s := range services {
		for _, v := range s.vips {
			for _, p := range s.ports {
				f := proxy.Frontend{Addr: netip.AddrPortFrom(v, p.port), Protocol: p.protocol}
				for _, pod := range pods {
					a := pod.Addr4
					if v.Is6() {
						a = pod.Addr6
					}
					f.Endpoints = append(f.Endpoints, netip.AddrPortFrom(a, p.target))
				}
				fs = append(fs, f)
			}
		}
	}
	return fs
}
