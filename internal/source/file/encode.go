package file

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAliased is how much of a file aliases may repeat, in bytes: a few lines of
// nested aliases can stand for more than any memory holds.
const maxAliased = 4 << 20

// valueCost is what a value counts for besides its text, in bytes.
const valueCost = 8

// encoder writes a YAML value as JSON. It stops after a number of values (the
// rest becomes null), which is how a decoder's complaint is led back to the
// value that caused it.
type encoder struct {
	buf     []byte
	left    int            // values still to be written
	aliases *int           // bytes that aliases may still repeat
	lines   map[string]int // if not nil: gets the line of every path

	// About the value being written:
	path    []byte
	depth   int
	aliased int                 // how many aliases it is inside of
	open    map[*yaml.Node]bool // the anchors that it is inside of

	// last is the value that used up left.
	last     *yaml.Node
	lastLine int
	lastPath string
}

// value writes n, which the reader of the file finds at the line at.
func (e *encoder) value(n *yaml.Node, at int) error {
	if e.left == 0 {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if n.Kind == yaml.AliasNode {
		e.aliased++
		defer func() { e.aliased-- }()
		n = deref(n)
	}
	if err := e.charge(n, at); err != nil {
		return err
	}
	if e.left--; e.left == 0 {
		e.last, e.lastLine, e.lastPath = n, at, string(e.path)
	}
	if e.lines != nil {
		e.lines[string(e.path)] = at
	}
	if n.Anchor != "" {
		if e.open[n] {
			return e.fault(at, "the alias *%s is inside of its own anchor", n.Anchor)
		}
		if e.open == nil {
			e.open = make(map[*yaml.Node]bool)
		}
		e.open[n] = true
		defer delete(e.open, n)
	}
	if e.depth++; e.depth > maxDepth {
		return e.fault(at, "values nest deeper than %d levels", maxDepth)
	}
	defer func() { e.depth-- }()
	switch n.Kind {
	case yaml.MappingNode:
		return e.mapping(n, at)
	case yaml.SequenceNode:
		return e.sequence(n)
	}
	return e.scalar(n, at)
}

// charge counts what aliases repeat.
func (e *encoder) charge(n *yaml.Node, at int) error {
	if e.aliased == 0 {
		return nil
	}
	if *e.aliases -= valueCost + len(n.Value); *e.aliases < 0 {
		return e.fault(at, "the aliases of the file repeat more than %d MiB: write it out", maxAliased>>20)
	}
	return nil
}

func (e *encoder) fault(line int, format string, args ...any) error {
	return &fault{line: line, field: string(e.path), msg: fmt.Sprintf(format, args...)}
}

func (e *encoder) sequence(n *yaml.Node) error {
	e.buf = append(e.buf, '[')
	for i, c := range n.Content {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		mark := len(e.path)
		e.path = append(strconv.AppendInt(append(e.path, '['), int64(i), 10), ']')
		if err := e.value(c, c.Line); err != nil {
			return err
		}
		e.path = e.path[:mark]
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (e *encoder) mapping(n *yaml.Node, at int) error {
	pairs, err := e.pairs(n, at)
	if err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for i, p := range pairs {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.string(p.key)
		e.buf = append(e.buf, ':')
		mark := len(e.path)
		e.path = appendKey(e.path, p.key)
		if err := e.value(p.value, p.line); err != nil {
			return err
		}
		e.path = e.path[:mark]
	}
	e.buf = append(e.buf, '}')
	return nil
}

// appendKey extends a path by a key; one that looks like a path itself, as the
// names of annotations do, goes into brackets.
func appendKey(path []byte, key string) []byte {
	if strings.ContainsAny(key, "./[") {
		return append(append(append(path, '['), key...), ']')
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, key...)
}

// pair is an entry of a mapping.
type pair struct {
	key   string
	line  int // of the key
	value *yaml.Node
}

// pairs returns the entries of a mapping, those of its merge keys (<<) last.
func (e *encoder) pairs(n *yaml.Node, at int) ([]pair, error) {
	out := make([]pair, 0, len(n.Content)/2)
	seen := make(map[string]int, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := deref(n.Content[i]), n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!null" {
			return nil, e.fault(k.Line, "want a string as the key, have %s", describe(k))
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if line, dup := seen[k.Value]; dup {
			e.path = appendKey(e.path, k.Value)
			return nil, e.fault(k.Line, "it is written twice, first in line %d: leave one out", line)
		}
		seen[k.Value] = k.Line
		out = append(out, pair{k.Value, k.Line, v})
	}
	for _, m := range merged {
		more, err := e.merge(m, at)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if _, own := seen[p.key]; !own {
				seen[p.key] = p.line
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// merge returns the entries of the value of a merge key: a mapping or a list of
// mappings, of which the first that has a key wins.
func (e *encoder) merge(n *yaml.Node, at int) ([]pair, error) {
	if e.depth++; e.depth > maxDepth {
		return nil, e.fault(at, "merge keys nest deeper than %d levels", maxDepth)
	}
	e.aliased++
	defer func() { e.depth--; e.aliased-- }()
	n = deref(n)
	if err := e.charge(n, at); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		return e.pairs(n, at)
	case yaml.SequenceNode:
		var out []pair
		for _, c := range n.Content {
			more, err := e.merge(c, at)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	return nil, e.fault(at, "want a mapping after <<, have %s", describe(n))
}

func (e *encoder) scalar(n *yaml.Node, at int) error {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		e.buf = append(e.buf, "null"...)
		return nil
	case "!!str", "!!timestamp", "!!merge":
		e.string(n.Value)
		return nil
	case "!!bool", "!!int", "!!float":
		// YAML spells numbers in more ways than JSON: 0x10, 1_000, .5.
		var v any
		if err := n.Decode(&v); err != nil {
			return e.fault(at, "%q is not of the type %s", n.Value, tag)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return e.fault(at, "%s is not a number that JSON has", n.Value)
		}
		e.buf = append(e.buf, b...)
		return nil
	default:
		return e.fault(at, "the tag %s is not supported", tag)
	}
}

func (e *encoder) string(s string) {
	b, _ := json.Marshal(s) // a string always marshals
	e.buf = append(e.buf, b...)
}

// describe names a value for a message.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return n.Value + " without quotes"
	case "!!int", "!!float":
		return "the number " + n.Value
	}
	const long = 40
	if r := []rune(n.Value); len(r) > long {
		return fmt.Sprintf("the string %q…", string(r[:long]))
	}
	return fmt.Sprintf("the string %q", n.Value)
}
