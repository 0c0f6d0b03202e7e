package lb

import "slices"

// Selector is a label selector in the shape of Kubernetes' LabelSelector.
// All requirements must hold; a selector without any selects everything.
type Selector struct {
	Requirements []Requirement
}

// Operator is how a [Requirement] compares.
type Operator string

// The operators of a label selector requirement.
const (
	OpIn           Operator = "In"
	OpNotIn        Operator = "NotIn"
	OpExists       Operator = "Exists"
	OpDoesNotExist Operator = "DoesNotExist"
)

// Requirement is one condition on a label.
type Requirement struct {
	Key    string
	Op     Operator
	Values []string
}

// Matches reports whether labels satisfy every requirement of s. A nil
// selector matches.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return true
	}
	for _, r := range s.Requirements {
		v, has := labels[r.Key]
		var ok bool
		switch r.Op {
		case OpIn:
			ok = has && slices.Contains(r.Values, v)
		case OpNotIn:
			ok = !has || !slices.Contains(r.Values, v)
		case OpExists:
			ok = has
		case OpDoesNotExist:
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}
