package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// jsonDocuments parses one or more JSON values into the same nodes as YAML.
// Most JSON is YAML, but not all: surrogate pairs, a tab before a key and a
// colon on the next line are not.
func jsonDocuments(data []byte) ([]*yaml.Node, error) {
	p := &jsonParser{data: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
	p.dec = json.NewDecoder(bytes.NewReader(p.data))
	p.dec.UseNumber()
	var docs []*yaml.Node
	for {
		t, err := p.next()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err == nil {
			var n *yaml.Node
			if n, err = p.value(t, 0); err == nil {
				docs = append(docs, root(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{n}}))
				continue
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends inside a value")
		}
		p.count(p.dec.InputOffset())
		return docs, &fault{line: p.line, msg: err.Error()}
	}
}

// jsonParser is a stream of tokens that knows its line.
type jsonParser struct {
	data    []byte
	dec     *json.Decoder
	counted int64 // bytes whose newlines are in line
	line    int
}

func (p *jsonParser) count(to int64) {
	p.line += bytes.Count(p.data[p.counted:to], []byte("\n"))
	p.counted = to
}

// next returns the next token; line then is the one that it is on.
func (p *jsonParser) next() (json.Token, error) {
	t, err := p.dec.Token()
	if err == nil {
		p.count(p.dec.InputOffset())
	}
	return t, err
}

// value reads the value that begins with t.
func (p *jsonParser) value(t json.Token, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line}
	switch t := t.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	case json.Number:
		n.Value = t.String()
		if _, err := t.Int64(); err == nil {
			n.Tag = "!!int"
		} else {
			n.Tag = "!!float"
		}
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Delim:
		return n, p.container(n, t, depth)
	}
	return n, nil
}

// container reads an object or an array into n.
func (p *jsonParser) container(n *yaml.Node, open json.Delim, depth int) error {
	if depth >= maxDepth {
		return fmt.Errorf("values nest deeper than %d levels", maxDepth)
	}
	n.Kind, n.Tag = yaml.MappingNode, "!!map"
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for {
		t, err := p.next()
		if err != nil {
			return err
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			return nil
		}
		v, err := p.value(t, depth+1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
}
