package lb

import "slices"

// Snapshot is everything that a source says, complete and consistent. It is
// immutable once handed out. Slices are sorted by name, so that two equal
// inputs give two equal snapshots on every node.
type Snapshot struct {
	Nodes         []Node
	Services      []Service
	Pools         []Pool
	Announcements []Announcement
	Problems      []Problem
}

// Node returns the node of that name.
func (s *Snapshot) Node(name string) (Node, bool) {
	i, ok := slices.BinarySearchFunc(s.Nodes, name, func(n Node, name string) int {
		switch {
		case n.Name < name:
			return -1
		case n.Name > name:
			return 1
		}
		return 0
	})
	if !ok {
		return Node{}, false
	}
	return s.Nodes[i], true
}
