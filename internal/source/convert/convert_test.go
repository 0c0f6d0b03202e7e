package convert

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// cluster generates objects that get into each other's way: few addresses, few
// ports, few names.
var cluster = rapid.Custom(func(t *rapid.T) Objects {
	var o Objects
	addr := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.9", "2001:db8::1", "2001:DB8::1", "10.0.0.01", "127.0.0.1", "lb.example.net"})
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	created := func() metav1.Time {
		return metav1.Time{Time: time.Unix(int64(rapid.IntRange(0, 2).Draw(t, "created")), 0)}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		o.Nodes = append(o.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addr.Draw(t, "node address")}}},
		})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "pools") {
		o.Pools = append(o.Pools, &v1alpha1.AddressPool{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), CreationTimestamp: created()},
			Spec:       v1alpha1.AddressPoolSpec{Addresses: []string{pick("range", "10.0.0.0/29", "10.0.0.2-10.0.0.9", "2001:db8::/64", "10.0.0.1/29")}},
		})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "announcements") {
		o.Announcements = append(o.Announcements, &v1alpha1.Announcement{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)},
			Spec: v1alpha1.AnnouncementSpec{
				Pools:        []string{pick("pool name", "p0", "p9")},
				NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b", "c": "d", "e": "f"}},
			},
		})
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "services") {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: pick("namespace", "default", "other"), Name: fmt.Sprint("s", i), CreationTimestamp: created(),
			Annotations: map[string]string{v1alpha1.AnnotationSharingKey: pick("key", "", "k", "l")},
		}}
		svc.Spec.Type = corev1.ServiceType(pick("type", "LoadBalancer", "LoadBalancer", "ClusterIP"))
		if class := pick("class", "", "", "example.com/other"); class != "" {
			svc.Spec.LoadBalancerClass = &class
		}
		if rapid.Bool().Draw(t, "requested") {
			svc.Annotations[v1alpha1.AnnotationAddresses] = addr.Draw(t, "address") + "," + addr.Draw(t, "address")
		} else {
			svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: addr.Draw(t, "address")}}
		}
		for _, n := range rapid.SliceOfN(rapid.Int32Range(1, 3), 1, 2).Draw(t, "ports") {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprint("p", n), Port: n, Protocol: corev1.Protocol(pick("protocol", "TCP", "UDP"))})
		}
		o.Services = append(o.Services, svc)
		for j := range rapid.IntRange(0, 2).Draw(t, "slices") {
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Namespace: svc.Namespace, Name: fmt.Sprint(svc.Name, "-", j), Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name}},
				AddressType: discoveryv1.AddressTypeIPv4,
			}
			for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
				ready, node := rapid.Bool().Draw(t, "ready"), pick("node", "n0", "n1", "n9")
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{addr.Draw(t, "endpoint")}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
			}
			for _, p := range svc.Spec.Ports {
				number := p.Port + 8000
				slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &number, Protocol: &p.Protocol})
			}
			o.EndpointSlices = append(o.EndpointSlices, slice)
		}
	}
	return o
})

// TestOrderDoesNotMatter: the same objects in any order give the same snapshot.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := cluster.Draw(t, "objects")
		want := Snapshot(o)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle(rng, o.Nodes)
		shuffle(rng, o.Services)
		shuffle(rng, o.EndpointSlices)
		shuffle(rng, o.Pools)
		shuffle(rng, o.Announcements)
		got := Snapshot(o)
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
			cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }), cmpopts.EquateComparable(netip.Prefix{})); d != "" {
			t.Fatal(d)
		}
		if want.String() != got.String() {
			t.Fatal("the text differs")
		}
	})
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

// TestSound: whatever the objects are, the snapshot keeps what it promises, by
// checks that know nothing of how it was made.
func TestSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := cluster.Draw(t, "objects")
		s := Snapshot(o)
		type socket struct {
			addr  netip.Addr
			proto lb.Protocol
			port  uint16
		}
		owner := make(map[socket]lb.ObjectName)
		vips := make(map[netip.Addr]bool)
		for _, svc := range s.Services {
			for _, a := range svc.Addresses {
				vips[a] = true
				if notUnicast(a) != "" || a.Is4In6() || a.Zone() != "" {
					t.Fatalf("%s is served on %s", svc.Name, a)
				}
				for _, n := range s.Nodes {
					if slices.Contains(n.Addresses, a) {
						t.Fatalf("%s is served on %s of node %s", svc.Name, a, n.Name)
					}
				}
				for _, p := range svc.Ports {
					k := socket{a, p.Protocol, p.Port}
					if other, taken := owner[k]; taken {
						t.Fatalf("%v belongs to %s and %s", k, other, svc.Name)
					}
					owner[k] = svc.Name
				}
			}
		}
		for _, svc := range s.Services {
			for _, p := range svc.Ports {
				for i, e := range p.Endpoints {
					if vips[e.Addr.Addr()] || notUnicast(e.Addr.Addr()) != "" || e.Addr.Port() == 0 {
						t.Fatalf("%s has the endpoint %s", svc.Name, e.Addr)
					}
					if i > 0 && p.Endpoints[i-1].Addr.Compare(e.Addr) >= 0 {
						t.Fatalf("%s: endpoints out of order: %v", svc.Name, p.Endpoints)
					}
				}
			}
		}
		// Whatever a Service of ours asks for, it has, or a problem says why not.
		for _, svc := range o.Services {
			i := slices.IndexFunc(s.Services, func(m lb.Service) bool { return m.Name == nameOf(svc) })
			if (i >= 0) != ours(svc) {
				t.Fatalf("%s: served %v, ours %v", nameOf(svc), i >= 0, ours(svc))
			}
			if i < 0 {
				continue
			}
			list, _ := wishes(&served{object: svc})
			for _, w := range list {
				a, err := netip.ParseAddr(w.text)
				has := err == nil && slices.Contains(s.Services[i].Addresses, a)
				told := slices.ContainsFunc(s.Problems, func(p lb.Problem) bool {
					return p.Object == "Service "+nameOf(svc).String() && p.Field == w.field && !p.Warning && (err != nil || p.Addr == a)
				})
				if has == told {
					t.Fatalf("%s on %q: has it %v, was told why not %v\n%s", nameOf(svc), w.text, has, told, s)
				}
			}
		}
	})
}

// TestReadOnly: the objects may be somebody's cache.
func TestReadOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := cluster.Draw(t, "objects")
		before := fmt.Sprintf("%+v", deref(o))
		Snapshot(o)
		if after := fmt.Sprintf("%+v", deref(o)); before != after {
			t.Fatalf("before %s\nafter %s", before, after)
		}
	})
}

func deref(o Objects) []any {
	var out []any
	for _, n := range o.Nodes {
		out = append(out, *n)
	}
	for _, s := range o.Services {
		out = append(out, *s)
	}
	for _, p := range o.Pools {
		out = append(out, *p)
	}
	for _, a := range o.Announcements {
		out = append(out, *a)
	}
	for _, e := range o.EndpointSlices {
		out = append(out, *e)
	}
	return out
}
