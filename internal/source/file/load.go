package file

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-lb/fairlead/api/v1alpha1"
	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/source/convert"
)

// namespaced are the kinds that have a namespace, "default" if none is written.
var namespaced = map[string]bool{"Service": true, "EndpointSlice": true}

// loader collects the objects of a directory.
type loader struct {
	objects  convert.Objects
	places   map[string]*object // by convert.ObjectString
	ignored  map[string]*ignoredKind
	problems []lb.Problem
}

// ignoredKind is a kind that is passed over.
type ignoredKind struct {
	count int
	first *object
}

// load makes a snapshot of the files.
func load(files []manifest) (*lb.Snapshot, error) {
	l := loader{places: make(map[string]*object), ignored: make(map[string]*ignoredKind)}
	for _, m := range files {
		objects, err := objects(m)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := l.add(o); err != nil {
				return nil, err
			}
		}
	}
	return l.snapshot(), nil
}

// add takes an object in, or passes it over.
func (l *loader) add(o *object) error {
	switch o.apiVersion + " " + o.kind {
	case "v1 Node":
		return lenient(l, o, &l.objects.Nodes)
	case "v1 Service":
		return lenient(l, o, &l.objects.Services)
	case discoveryv1.SchemeGroupVersion.String() + " EndpointSlice":
		return lenient(l, o, &l.objects.EndpointSlices)
	case v1alpha1.APIVersion + " AddressPool":
		return strict(l, o, &l.objects.Pools)
	case v1alpha1.APIVersion + " Announcement":
		return strict(l, o, &l.objects.Announcements)
	case v1alpha1.APIVersion + " VIP": // a report, not an input
	default:
		if group, _, _ := strings.Cut(o.apiVersion, "/"); group == v1alpha1.Group {
			return o.errorAt(o.node.Line, "kind", fmt.Sprintf("there is no kind %s in %s: write AddressPool or Announcement of %s",
				plain(o.kind), plain(o.apiVersion), v1alpha1.APIVersion))
		}
	}
	key := o.apiVersion + " " + o.kind
	if l.ignored[key] == nil {
		l.ignored[key] = &ignoredKind{first: o}
	}
	l.ignored[key].count++
	return nil
}

// apiObject is a pointer to an API type T.
type apiObject[T any] interface {
	*T
	metav1.Object
}

// strict decodes a kind of ours: a field that it doesn't have is an error.
func strict[T any, P apiObject[T]](l *loader, o *object, to *[]P) error {
	v, unknown, err := decode[T](o)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return o.errorAt(lineOf(o.lines(), unknown[0]), unknown[0], fmt.Sprintf("%s has no such field", o.kind))
	}
	_, err = admit(l, o, P(v), to)
	return err
}

// lenient decodes a kind of Kubernetes: it may be newer than the types here, so
// a field that they don't have is passed over with a warning.
func lenient[T any, P apiObject[T]](l *loader, o *object, to *[]P) error {
	v, unknown, err := decode[T](o)
	if err != nil {
		return err
	}
	name, err := admit(l, o, P(v), to)
	if err != nil || len(unknown) == 0 {
		return err
	}
	lines := o.lines()
	for _, field := range unknown {
		l.problems = append(l.problems, lb.Problem{
			Kind:    lb.UnknownField,
			Object:  name,
			Where:   o.where(lines, field),
			Field:   plain(field),
			Message: fmt.Sprintf("%s has no such field: it is passed over", o.kind),
			Warning: true,
		})
	}
	return nil
}

// admit appends a decoded object to its kind, unless there is one of its name.
func admit[T any, P apiObject[T]](l *loader, o *object, v P, to *[]P) (name string, err error) {
	if v.GetName() == "" {
		return "", o.errorAt(o.node.Line, "metadata.name", "it is missing")
	}
	switch {
	case !namespaced[o.kind]:
		v.SetNamespace("")
	case v.GetNamespace() == "":
		v.SetNamespace("default")
	}
	if err := checkNames(o, v); err != nil {
		return "", err
	}
	name = convert.ObjectString(o.kind, v.GetNamespace(), v.GetName())
	if first := l.places[name]; first != nil {
		return "", o.errorAt(o.node.Line, "metadata.name", fmt.Sprintf("%s is defined already, in %s:%d: leave one out", name, first.file, first.node.Line))
	}
	l.places[name] = o
	*to = append(*to, v)
	return name, nil
}

// checkNames holds names to the rules of a Kubernetes API server: whatever
// prints one may count on it being a plain word.
func checkNames(o *object, v metav1.Object) error {
	const write = "write at most %d lower-case letters, digits%s, first and last a letter or a digit"
	if name := v.GetName(); len(validation.IsDNS1123Subdomain(name)) > 0 {
		return badName(o, "metadata.name", name, fmt.Sprintf(write, validation.DNS1123SubdomainMaxLength, ", - and ."))
	}
	if namespace := v.GetNamespace(); namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return badName(o, "metadata.namespace", namespace, fmt.Sprintf(write, validation.DNS1123LabelMaxLength, " and -"))
	}
	return nil
}

func badName(o *object, field, value, write string) error {
	return o.errorAt(lineOf(o.lines(), field), field, fmt.Sprintf("%.100q is no name: %s", value, write))
}

// snapshot converts what was collected and says where the problems are.
func (l *loader) snapshot() *lb.Snapshot {
	s := convert.Snapshot(l.objects)
	lines := make(map[*object]map[string]int)
	for i := range s.Problems {
		p := &s.Problems[i]
		o := l.places[p.Object]
		if lines[o] == nil {
			lines[o] = o.lines()
		}
		p.Where = o.where(lines[o], p.Field)
	}
	s.Problems = append(s.Problems, l.problems...)
	for key, k := range l.ignored {
		s.Problems = append(s.Problems, lb.Problem{
			Kind:    lb.KindIgnored,
			Object:  "kind " + plain(key),
			Where:   fmt.Sprintf("%s:%d", k.first.file, k.first.node.Line),
			Message: ignoredMessage(k),
			Warning: true,
		})
	}
	slices.SortFunc(s.Problems, lb.Problem.Compare)
	return s
}

// ignoredMessage says what is passed over, and what to write if it was meant to
// be read.
func ignoredMessage(k *ignoredKind) string {
	msg := fmt.Sprintf("not used, %d passed over", k.count)
	switch o := k.first; {
	case o.kind == "Endpoints", o.kind == "EndpointSlice":
		return msg + ": write EndpointSlice of " + discoveryv1.SchemeGroupVersion.String()
	case o.kind == "Node", o.kind == "Service":
		return msg + ": write " + o.kind + " of " + corev1.SchemeGroupVersion.String()
	}
	return msg
}
