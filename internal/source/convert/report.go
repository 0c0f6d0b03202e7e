package convert

import (
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// ObjectString names an object in [lb.Problem.Object]: "Service default/web".
func ObjectString(kind, namespace, name string) string {
	return kind + " " + lb.ObjectName{Namespace: namespace, Name: name}.String()
}

// report records the problems of one object.
type report struct {
	c      *converter
	object string
}

func (c *converter) report(kind string, o metav1.Object) report {
	return report{c, ObjectString(kind, o.GetNamespace(), o.GetName())}
}

func (r report) add(p lb.Problem) {
	p.Object = r.object
	r.c.problems = append(r.c.problems, p)
}

// refused records that the value of field is not used.
func (r report) refused(kind lb.ProblemKind, field, format string, args ...any) {
	r.add(lb.Problem{Kind: kind, Field: field, Message: fmt.Sprintf(format, args...)})
}

// warned records that the value of field is used, or its default is, although
// something is wrong with it.
func (r report) warned(kind lb.ProblemKind, field, format string, args ...any) {
	r.add(lb.Problem{Kind: kind, Field: field, Warning: true, Message: fmt.Sprintf(format, args...)})
}

// refusedAddr records that the object is not served on a.
func (r report) refusedAddr(kind lb.ProblemKind, a netip.Addr, field, format string, args ...any) {
	r.add(lb.Problem{Kind: kind, Addr: a, Field: field, Message: fmt.Sprintf(format, args...)})
}

// annotationField is the path of an annotation.
func annotationField(name string) string { return "metadata.annotations[" + name + "]" }
