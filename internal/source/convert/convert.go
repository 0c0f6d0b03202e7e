package convert

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Objects are the API objects that the model is made of, in any order. Names
// are unique per kind and namespace. They are read only.
type Objects struct {
	Nodes          []*corev1.Node
	Services       []*corev1.Service
	EndpointSlices []*discoveryv1.EndpointSlice
	Pools          []*v1alpha1.AddressPool
	Announcements  []*v1alpha1.Announcement
}

// converter is the state of one conversion: what later objects are checked
// against, and the problems found so far.
type converter struct {
	problems []lb.Problem
	nodeAddr map[netip.Addr]string        // InternalIP → node name
	nodes    map[string]bool              // names
	foreign  map[netip.Addr]lb.ObjectName // address → Service of another implementation
	pools    []lb.Pool
}

// Snapshot converts objects to the model.
func Snapshot(o Objects) *lb.Snapshot {
	c := &converter{
		nodeAddr: make(map[netip.Addr]string),
		nodes:    make(map[string]bool),
		foreign:  make(map[netip.Addr]lb.ObjectName),
	}
	s := &lb.Snapshot{}
	s.Nodes = c.convertNodes(sorted(o.Nodes))
	s.Pools = c.convertPools(sorted(o.Pools))
	c.pools = s.Pools
	s.Announcements = c.convertAnnouncements(sorted(o.Announcements))
	s.Services = c.convertServices(sorted(o.Services), sorted(o.EndpointSlices))
	c.reportTorn(s)
	slices.SortFunc(c.problems, lb.Problem.Compare)
	s.Problems = c.problems
	return s
}

// sorted returns the objects ordered by namespace and name.
func sorted[T metav1.Object](objects []T) []T {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b T) int { return nameOf(a).Compare(nameOf(b)) })
	return objects
}

// older orders objects by creation, then by name: of two that are in each
// other's way the older one stays. A manifest without creationTimestamp counts
// as older than any with.
func older(a, b metav1.Object) int {
	return cmp.Or(
		a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		nameOf(a).Compare(nameOf(b)),
	)
}

func nameOf(o metav1.Object) lb.ObjectName {
	return lb.ObjectName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
