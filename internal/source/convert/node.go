package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// convertNodes converts the nodes and remembers their names and addresses.
func (c *converter) convertNodes(nodes []*corev1.Node) []lb.Node {
	var out []lb.Node
	for _, n := range nodes {
		_, excluded := n.Labels[corev1.LabelNodeExcludeBalancers]
		node := lb.Node{
			Name:     n.Name,
			Labels:   maps.Clone(n.Labels),
			NotReady: notReady(n),
			Excluded: excluded, // present is enough, "false" included, as in Kubernetes
			Draining: n.Annotations[v1alpha1.AnnotationDrain] == "true",
		}
		r := c.report("Node", n)
		for i, na := range n.Status.Addresses {
			if na.Type != corev1.NodeInternalIP {
				continue
			}
			a, err := parseAddr(strings.TrimSpace(na.Address))
			if err != nil {
				r.refused(lb.AddressInvalid, fmt.Sprintf("status.addresses[%d].address", i), "%v", err)
				continue
			}
			if !slices.Contains(node.Addresses, a) {
				node.Addresses = append(node.Addresses, a)
			}
			if _, taken := c.nodeAddr[a]; !taken {
				c.nodeAddr[a] = n.Name
			}
		}
		c.nodes[n.Name] = true
		out = append(out, node)
	}
	return out
}

// notReady reports whether the node says of itself, or is said, not to be
// ready. A node without the condition is one that nobody watches.
func notReady(n *corev1.Node) bool {
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status != corev1.ConditionTrue
		}
	}
	return false
}
