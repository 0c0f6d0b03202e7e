package file

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// jsonValue generates what encoding/json decodes into an any.
func jsonValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth > 0 {
			kinds = 7
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return float64(rapid.Int32().Draw(t, "int"))
		case 3:
			return rapid.Float64Range(-1e300, 1e300).Draw(t, "float")
		case 4:
			return text8.Draw(t, "string")
		case 5:
			return rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 4), func(s []any) any { return s }).Draw(t, "list")
		}
		return rapid.Map(rapid.MapOfN(text8, jsonValue(depth-1), 0, 4), func(m map[string]any) any { return m }).Draw(t, "map")
	})
}

// text8 generates strings, those that mean something to YAML among them, but
// none of several lines that begins with a blank: in a list, the YAML writer
// gives such a block another indentation than the one it announces.
var text8 = rapid.OneOf(
	rapid.SampledFrom([]string{"", "yes", "null", "~", "0x10", "010", "1e3", "<<", "a: b", "- a", "#", "2026-01-02", "true", "a.b/c", "[0]", "é\u2028😀<&>"}),
	rapid.StringMatching(`[a-z "':\\\n#-]{0,8}`),
).Filter(func(s string) bool { return !strings.Contains(s, "\n") || strings.TrimLeft(s, " \n") == s })

// TestEncodeTwin: a value that a YAML writer wrote and a JSON writer wrote is
// the same value as JSON, read through either parser.
func TestEncodeTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := jsonValue(3).Draw(t, "value")
		asYAML, err := yaml.Marshal(map[string]any{"v": want})
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(map[string]any{"v": want})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []struct {
			parse func([]byte) ([]*yaml.Node, error)
			data  []byte
		}{{yamlDocuments, asYAML}, {jsonDocuments, asJSON}} {
			docs, err := in.parse(in.data)
			if err != nil || len(docs) != 1 {
				t.Fatalf("%d documents of %q: %v", len(docs), in.data, err)
			}
			var got map[string]any
			if err := json.Unmarshal(encodeAll(t, docs[0]), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got["v"]); d != "" {
				t.Fatalf("%q:\n%s", in.data, d)
			}
		}
	})
}

func encodeAll(t interface{ Fatal(...any) }, n *yaml.Node) []byte {
	aliases := maxAliased
	e := encoder{left: math.MaxInt, aliases: &aliases}
	if err := e.value(n, n.Line); err != nil {
		t.Fatal(err)
	}
	return e.buf
}

// TestEncode: the spellings that JSON doesn't have.
func TestEncode(t *testing.T) {
	for in, want := range map[string]string{
		`[0x10, 0o17, 1_000, .5, +3, 1e3]`:                      `[16,15,1000,0.5,3,1000]`,
		`[yes, on, True, NULL, ~, ""]`:                          `["yes","on",true,null,null,""]`,
		`{1: a, true: b, 2026-01-02: 2026-01-02}`:               `{"1":"a","true":"b","2026-01-02":"2026-01-02"}`,
		`[!!str 1, "1", '1']`:                                   `["1","1","1"]`,
		`{a: &a {x: 1}, b: {<<: *a, x: 2}, c: [*a]}`:            `{"a":{"x":1},"b":{"x":2},"c":[{"x":1}]}`,
		`{a: &a {x: 1}, b: &b {x: 2, y: 2}, c: {<<: [*a, *b]}}`: `{"a":{"x":1},"b":{"x":2,"y":2},"c":{"x":1,"y":2}}`,
		"a: |\n  x\n  y\nb: >\n  x\n  y\n":                      `{"a":"x\ny\n","b":"x y\n"}`,
	} {
		docs, err := yamlDocuments([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(encodeAll(t, docs[0])); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestEncodeFaults(t *testing.T) {
	for in, want := range map[string]string{
		"a: .inf":                    "2:a: .inf is not a number that JSON has",
		"a: {b: !mine x}":            "2:a.b: the tag !mine is not supported",
		"a: !!int x":                 `2:a: "x" is not of the type !!int`,
		"a: {? [b] : c}":             "2:a: want a string as the key, have a list",
		"a: {~: c}":                  "2:a: want a string as the key, have nothing",
		"a: {<<: 1}":                 "2:a: want a mapping after <<, have the number 1",
		"a: {x.y/z: 1,\n  x.y/z: 2}": "3:a[x.y/z]: it is written twice, first in line 2: leave one out",
	} {
		docs, err := yamlDocuments([]byte("---\n" + in))
		if err != nil {
			t.Fatal(err)
		}
		aliases := maxAliased
		e := encoder{left: math.MaxInt, aliases: &aliases}
		err = e.value(docs[0], 2)
		f, ok := err.(*fault)
		if !ok {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := (&Error{Line: f.line, Field: f.field, Msg: f.msg}).Error(); got != ":"+want[:1]+": "+want[2:] {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// TestSyntaxLines: the parser's own line numbers are off by one half of the
// time.
func TestSyntaxLines(t *testing.T) {
	for in, line := range map[string]int{
		"a: b\nc: [1\nd: e\n":     2,
		"a: b\n  c: d\n":          2,
		"a: 'b":                   1,
		"a: b\nc: \"d\n":          2,
		"a: b\n---\nc: d\n  e: f": 4,
		"a: *b":                   1,
	} {
		_, err := yamlDocuments([]byte(in))
		f, ok := err.(*fault)
		if !ok {
			t.Errorf("%q: %v", in, err)
		} else if f.line != line {
			t.Errorf("%q: line %d, want %d: %s", in, f.line, line, f.msg)
		}
	}
}
