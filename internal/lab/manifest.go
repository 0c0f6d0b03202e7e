package lab

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-lb/fairlead/internal/lab/topo"
)

// manifests is the source directory of the lab's agents: ordinary Kubernetes
// objects, one file a kind.
type manifests struct {
	dir string
	// staging is on the same filesystem but outside: a file appears in dir
	// complete or not at all.
	staging string
}

// object is a Kubernetes object as it is written.
type object = map[string]any

// write puts objects into one file of the source.
func (m manifests) write(name string, objects []object) error {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		y, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("write manifest %s: %w", name, err)
		}
		b.Write(y)
	}
	tmp := filepath.Join(m.staging, name)
	if err := os.WriteFile(tmp, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write manifest %s: %w", name, err)
	}
	if err := os.Rename(tmp, filepath.Join(m.dir, name)); err != nil {
		return fmt.Errorf("write manifest %s: %w", name, err)
	}
	return nil
}

func meta(name string) object {
	return object{"name": name}
}

func namespaced(name string) object {
	return object{"namespace": "default", "name": name}
}

// nodeObjects are the Nodes, with the drain annotation on those in draining.
func nodeObjects(nodes []topo.Host, draining map[string]bool) []object {
	var os []object
	for _, n := range nodes {
		md := meta(n.Name)
		if draining[n.Name] {
			md["annotations"] = object{"fairlead.dev/drain": "true"}
		}
		os = append(os, object{
			"apiVersion": "v1", "kind": "Node", "metadata": md,
			"status": object{"addresses": []object{
				{"type": "InternalIP", "address": n.Addr4.Addr().String()},
				{"type": "InternalIP", "address": n.Addr6.Addr().String()},
				{"type": "Hostname", "address": n.Name},
			}},
		})
	}
	return os
}

// poolObject is an AddressPool of exactly these addresses' surroundings.
func poolObject(addrs []netip.Addr) object {
	var v4, v6 []netip.Addr // sorted, as addrs are
	for _, a := range addrs {
		if a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	var ranges []string
	for _, as := range [][]netip.Addr{v4, v6} {
		if len(as) > 0 {
			ranges = append(ranges, as[0].String()+"-"+as[len(as)-1].String())
		}
	}
	return object{
		"apiVersion": "fairlead.dev/v1alpha1", "kind": "AddressPool", "metadata": meta("lab"),
		"spec": object{"addresses": ranges},
	}
}

// serviceObjects are the Services with their addresses in status.
func serviceObjects(services []service) []object {
	var os []object
	for _, s := range services {
		var ports, ingress []object
		for _, p := range s.ports {
			ports = append(ports, object{"name": p.name, "protocol": p.protocol.String(), "port": p.port, "targetPort": p.target})
		}
		for _, v := range s.vips {
			ingress = append(ingress, object{"ip": v.String(), "ipMode": "VIP"})
		}
		os = append(os, object{
			"apiVersion": "v1", "kind": "Service", "metadata": namespaced(s.name),
			"spec": object{
				"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "ports": ports,
				"ipFamilyPolicy": "RequireDualStack", "ipFamilies": []string{"IPv4", "IPv6"},
			},
			"status": object{"loadBalancer": object{"ingress": ingress}},
		})
	}
	return os
}

// sliceObjects are the EndpointSlices: all pods behind each service, those not
// on a node of ready as not ready.
func sliceObjects(services []service, pods []topo.Pod, ready func(node string) bool) []object {
	var os []object
	for _, s := range services {
		var ports []object
		for _, p := range s.ports {
			ports = append(ports, object{"name": p.name, "protocol": p.protocol.String(), "port": p.target})
		}
		for _, family := range []string{"IPv4", "IPv6"} {
			endpoints := []object{}
			for _, p := range pods {
				a := p.Addr4
				if family == "IPv6" {
					a = p.Addr6
				}
				r := ready(p.Node)
				endpoints = append(endpoints, object{
					"addresses": []string{a.String()}, "nodeName": p.Node,
					"conditions": object{"ready": r, "serving": r, "terminating": false},
				})
			}
			md := namespaced(s.name + "-" + family[2:])
			md["labels"] = object{"kubernetes.io/service-name": s.name}
			os = append(os, object{
				"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": md,
				"addressType": family, "endpoints": endpoints, "ports": ports,
			})
		}
	}
	return os
}
