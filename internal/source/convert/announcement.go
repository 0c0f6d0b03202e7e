package convert

import (
	"fmt"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// convertAnnouncements converts the rules. A part that is wrong must not widen
// its rule: a bad glob stays in the list and matches nothing, a bad selector
// selects nothing, and the rule itself stays, because no rule at all would mean
// that everything is announced.
func (c *converter) convertAnnouncements(announcements []*v1alpha1.Announcement) []lb.Announcement {
	var out []lb.Announcement
	for _, a := range announcements {
		r := c.report("Announcement", a)
		rule := lb.Announcement{
			Name:         a.Name,
			Pools:        slices.Clone(a.Spec.Pools),
			Interfaces:   slices.Clone(a.Spec.Interfaces),
			NodeSelector: convertSelector(r, a.Spec.NodeSelector),
			Gratuitous:   convertGratuitous(r, a.Spec.Gratuitous),
		}
		for i, name := range rule.Pools {
			if !slices.ContainsFunc(c.pools, func(p lb.Pool) bool { return p.Name == name }) {
				r.warned(lb.AnnouncementInvalid, fmt.Sprintf("spec.pools[%d]", i), "there is no AddressPool %q", name)
			}
		}
		for i, glob := range rule.Interfaces {
			if _, err := path.Match(glob, ""); err != nil || glob == "" {
				r.refused(lb.AnnouncementInvalid, fmt.Sprintf("spec.interfaces[%d]", i),
					"%q matches no interface: write a name or a glob such as eth0, bond*, ens[12]", glob)
			}
		}
		switch m := a.Spec.Membership; m {
		case "", v1alpha1.MembershipHeartbeat, v1alpha1.MembershipLease:
			rule.Membership = string(m)
		default:
			r.refused(lb.AnnouncementInvalid, "spec.membership", "%q is unknown: write heartbeat or lease", m)
		}
		out = append(out, rule)
	}
	return out
}

// nothing is a requirement that no labels satisfy.
func nothing(key string) lb.Requirement { return lb.Requirement{Key: key, Op: lb.OpIn} }

func convertSelector(r report, s *metav1.LabelSelector) *lb.Selector {
	if s == nil {
		return nil
	}
	out := &lb.Selector{}
	for k, v := range s.MatchLabels {
		out.Requirements = append(out.Requirements, lb.Requirement{Key: k, Op: lb.OpIn, Values: []string{v}})
	}
	slices.SortFunc(out.Requirements, func(a, b lb.Requirement) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	for i, e := range s.MatchExpressions {
		field := fmt.Sprintf("spec.nodeSelector.matchExpressions[%d]", i)
		req := lb.Requirement{Key: e.Key, Op: lb.Operator(e.Operator), Values: slices.Clone(e.Values)}
		wrong := ""
		switch req.Op {
		case lb.OpIn, lb.OpNotIn:
			if len(e.Values) == 0 {
				wrong = fmt.Sprintf("%s needs values", e.Operator)
			}
		case lb.OpExists, lb.OpDoesNotExist:
			if len(e.Values) > 0 {
				wrong = fmt.Sprintf("%s takes no values", e.Operator)
			}
		default:
			wrong = fmt.Sprintf("the operator %q is unknown: write In, NotIn, Exists or DoesNotExist", e.Operator)
		}
		if e.Key == "" {
			wrong = "the key is empty"
		}
		if wrong != "" {
			r.refused(lb.AnnouncementInvalid, field, "%s; the rule selects no node", wrong)
			req = nothing(e.Key)
		}
		out.Requirements = append(out.Requirements, req)
	}
	return out
}

func convertGratuitous(r report, g *v1alpha1.Gratuitous) lb.Gratuitous {
	if g == nil {
		return lb.Gratuitous{}
	}
	out := lb.Gratuitous{Count: int(g.Count)}
	if out.Count < 0 || out.Count > 60 {
		r.refused(lb.AnnouncementInvalid, "spec.gratuitous.count", "%d is out of bounds: write 1 to 60", out.Count)
		out.Count = 0
	}
	atLeast := func(field string, d *metav1.Duration, least time.Duration) time.Duration {
		if d == nil {
			return 0
		}
		if d.Duration < least {
			r.refused(lb.AnnouncementInvalid, "spec.gratuitous."+field, "%s is too short: write %s or more", d.Duration, least)
			return 0
		}
		return d.Duration
	}
	out.Spacing = atLeast("spacing", g.Spacing, 1100*time.Millisecond)
	out.Refresh = atLeast("refresh", g.Refresh, time.Second)
	return out
}
