package lb

import (
	"fmt"
	"slices"
	"strings"
)

// String is the whole snapshot as text for people and golden files: one line
// per thing, indented by what it belongs to, defaults left out. Two snapshots
// with the same text mean the same.
func (s *Snapshot) String() string {
	var b strings.Builder
	for _, n := range s.Nodes {
		n.dump(&b)
	}
	for _, p := range s.Pools {
		p.dump(&b)
	}
	for _, a := range s.Announcements {
		a.dump(&b)
	}
	for _, svc := range s.Services {
		svc.dump(&b)
	}
	for _, p := range s.Problems {
		p.dump(&b)
	}
	return b.String()
}

// line writes words, without the empty ones, as one line.
func line(b *strings.Builder, indent string, words ...string) {
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	fmt.Fprintf(b, "%s%s\n", indent, strings.Join(words, " "))
}

// when returns word if cond holds.
func when(cond bool, word string) string {
	if cond {
		return word
	}
	return ""
}

// list prints "name a,b,c", or nothing for an empty list.
func list[T any](name string, items []T) string {
	if len(items) == 0 {
		return ""
	}
	words := make([]string, len(items))
	for i, it := range items {
		words[i] = fmt.Sprint(it)
	}
	return name + " " + strings.Join(words, ",")
}

func (n Node) dump(b *strings.Builder) {
	line(b, "", "node", n.Name, list("addresses", n.Addresses),
		when(n.NotReady, "not-ready"), when(n.Excluded, "excluded"), when(n.Draining, "draining"))
	keys := make([]string, 0, len(n.Labels))
	for k := range n.Labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		line(b, "  ", "label", k+"="+n.Labels[k])
	}
}

func (p Pool) dump(b *strings.Builder) {
	line(b, "", "pool", p.Name, list("ranges", p.Ranges), when(!p.AutoAssign, "manual"),
		when(p.Priority != 0, fmt.Sprint("priority ", p.Priority)))
}

func (r Announcement) dump(b *strings.Builder) {
	line(b, "", "announcement", r.Name, list("pools", r.Pools), list("interfaces", r.Interfaces),
		when(r.Membership != "", "membership "+r.Membership),
		when(r.Gratuitous.Count != 0, fmt.Sprint("count ", r.Gratuitous.Count)),
		when(r.Gratuitous.Spacing != 0, fmt.Sprint("spacing ", r.Gratuitous.Spacing)),
		when(r.Gratuitous.Refresh != 0, fmt.Sprint("refresh ", r.Gratuitous.Refresh)))
	if r.NodeSelector == nil {
		return
	}
	line(b, "  ", "nodes", when(len(r.NodeSelector.Requirements) == 0, "all"))
	for _, q := range r.NodeSelector.Requirements {
		line(b, "    ", fmt.Sprintf("%q", q.Key), string(q.Op), fmt.Sprintf("%q", q.Values))
	}
}

func (s Service) dump(b *strings.Builder) {
	line(b, "", "service", s.Name.String(), list("addresses", s.Addresses), when(s.LocalOnly, "local"),
		when(s.AffinityTimeout > 0, fmt.Sprint("affinity ", s.AffinityTimeout)),
		when(s.Forwarding != ForwardingDefault, "forwarding "+s.Forwarding.String()),
		when(s.SharingKey != "", fmt.Sprintf("sharing-key %q", s.SharingKey)),
		when(s.Restricted, "restricted"), list("sources", s.SourceRanges))
	for _, p := range s.Ports {
		line(b, "  ", "port", fmt.Sprintf("%d/%s", p.Port, p.Protocol), p.Name)
		for _, e := range p.Endpoints {
			node := e.Node
			if node == "" {
				node = "-"
			}
			line(b, "    ", e.Addr.String(), node,
				when(e.Ready, "ready"), when(e.Serving, "serving"), when(e.Terminating, "terminating"))
		}
	}
}

func (p Problem) dump(b *strings.Builder) {
	line(b, "", when(p.Warning, "warning"), when(!p.Warning, "refused"), when(p.Addr.IsValid(), p.Addr.String()), p.String())
}
