package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-lb/fairlead/internal/source/convert"
)

// object is one API object as it is written.
type object struct {
	file             string
	document         int    // 1 for the first
	item             string // "items[2]" in a List, else ""
	apiVersion, kind string
	node             *yaml.Node // a mapping
	aliases          *int       // bytes that aliases may still repeat in the file
}

// objects parses a file into its objects, Lists taken apart.
func objects(m manifest) ([]*object, error) {
	parse := yamlDocuments
	if filepath.Ext(m.path) == ".json" {
		parse = jsonDocuments
	}
	docs, err := parse(m.data)
	if err != nil {
		return nil, lift(err, Error{File: m.path, Document: len(docs) + 1})
	}
	aliases := maxAliased
	var out []*object
	for i, n := range docs {
		if n == nil {
			continue
		}
		o := &object{file: m.path, document: i + 1, node: deref(n), aliases: &aliases}
		if err := o.readKind(); err != nil {
			return nil, err
		}
		items := child(o.node, "items")
		if o.kind != "List" && (!strings.HasSuffix(o.kind, "List") || items == nil) {
			out = append(out, o)
			continue
		}
		list, err := o.split(items)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// readKind reads what the object is.
func (o *object) readKind() error {
	if o.node.Kind != yaml.MappingNode {
		return o.errorAt(o.node.Line, "", "want an object with apiVersion and kind, have "+describe(o.node))
	}
	if v := text(o.node, "apiVersion"); v != "" {
		o.apiVersion = v
	}
	if k := text(o.node, "kind"); k != "" {
		o.kind = k
	}
	if o.kind == "" {
		return o.errorAt(o.node.Line, "kind", "it is missing: is this a Kubernetes manifest?")
	}
	if o.apiVersion == "" {
		return o.errorAt(o.node.Line, "apiVersion", "it is missing: write for example v1")
	}
	return nil
}

// split takes a List apart. The items of a typed list (ServiceList) need not
// say what they are.
func (o *object) split(items *yaml.Node) ([]*object, error) {
	if items == nil || items.Kind == yaml.ScalarNode && items.ShortTag() == "!!null" {
		return nil, nil
	}
	if items.Kind != yaml.SequenceNode {
		return nil, o.errorAt(items.Line, "items", "want a list, have "+describe(items))
	}
	var out []*object
	for i, n := range items.Content {
		it := &object{file: o.file, document: o.document, item: fmt.Sprintf("items[%d]", i), node: deref(n), aliases: o.aliases}
		if o.kind != "List" {
			it.apiVersion, it.kind = o.apiVersion, strings.TrimSuffix(o.kind, "List")
		}
		if err := it.readKind(); err != nil {
			return nil, err
		}
		if it.kind == "List" {
			return nil, it.errorAt(it.node.Line, "kind", "a List inside a List is not read: write its items here")
		}
		out = append(out, it)
	}
	return out, nil
}

// String names the object as problems do, before it is decoded.
func (o *object) String() string {
	name, namespace := text(o.node, "metadata", "name"), text(o.node, "metadata", "namespace")
	if name == "" {
		return o.kind
	}
	if namespace == "" && namespaced[o.kind] {
		namespace = "default"
	}
	return convert.ObjectString(o.kind, namespace, name)
}

func (o *object) errorAt(line int, field, msg string) *Error {
	e := &Error{File: o.file, Line: line, Document: o.document, Item: o.item, Field: field, Msg: msg}
	if o.kind != "" {
		e.Object = o.String()
	}
	return e
}

// where is "file:line" of a field.
func (o *object) where(lines map[string]int, field string) string {
	return fmt.Sprintf("%s:%d", o.file, lineOf(lines, field))
}

// lineOf is the line of a field, or of the closest one above it that is
// written. The object itself, the path "", always is.
func lineOf(lines map[string]int, field string) int {
	for {
		if line, ok := lines[field]; ok {
			return line
		}
		field = parent(field)
	}
}

// lines maps the path of every value of the object to its line.
func (o *object) lines() map[string]int {
	unbounded := int(^uint(0) >> 1)
	e := encoder{left: unbounded, aliases: &unbounded, lines: make(map[string]int)}
	// It was encoded before, when it was decoded: there can't be an error.
	_ = e.value(o.node, o.node.Line)
	return e.lines
}

// parent is the path without its last step: a[b] of a[b].c, a of a[b].
func parent(field string) string {
	if strings.HasSuffix(field, "]") {
		return field[:max(0, strings.LastIndexByte(field, '['))]
	}
	return field[:max(0, strings.LastIndexByte(field, '.'))]
}

// lift completes a fault with the place that its value is at.
func lift(err error, at Error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	at.Line, at.Field, at.Msg = f.line, f.field, f.msg
	return &at
}
