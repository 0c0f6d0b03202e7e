package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth is how deep values may nest. No manifest comes near it.
const maxDepth = 100

// yamlDocuments parses a YAML stream. The nodes are the roots of its documents,
// nil for an empty one, so that the index says which document it is.
func yamlDocuments(data []byte) (docs []*yaml.Node, err error) {
	// The parser panics on what it deems impossible, and the bytes are not ours.
	defer func() {
		if p := recover(); p != nil {
			err = &fault{msg: fmt.Sprintf("the YAML parser gave up: %v", p)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return docs, syntaxFault(err)
		}
		docs = append(docs, root(&doc))
	}
}

// root is the value of a document, or nil for an empty document.
func root(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	n := doc.Content[0]
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	return n
}

// yamlLine is how the parser begins its messages.
var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxFault takes the line out of a parser's message.
func syntaxFault(err error) *fault {
	f := &fault{line: 1, msg: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(f.msg); m != nil {
		f.line, _ = strconv.Atoi(m[1])
		f.msg = strings.TrimPrefix(f.msg, m[0])
		if strings.HasPrefix(f.msg, "did not find expected") {
			f.line++ // the parser, unlike the scanner, counts from 0
		}
	}
	return f
}

// deref follows an alias.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// child is the value of a key of a mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n = deref(n); n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return deref(n.Content[i+1])
		}
	}
	return nil
}

// text is the value of a scalar under a path of keys, or "".
func text(n *yaml.Node, path ...string) string {
	for _, key := range path {
		if n = child(n, key); n == nil {
			return ""
		}
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
