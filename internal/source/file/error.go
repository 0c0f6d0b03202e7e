package file

import (
	"fmt"
	"strings"
)

// Error is why a directory could not be loaded. Fields that don't apply are
// zero.
type Error struct {
	File     string // path, or that of the directory
	Line     int    // 1 for the first
	Document int    // 1 for the first of the file
	Item     string // place in a List of that document: "items[2]"
	Object   string // "Service default/web"
	Field    string // "spec.ports[0].port"
	Msg      string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Document > 0 {
		fmt.Fprintf(&b, ": document %d", e.Document)
		if e.Item != "" {
			b.WriteString(" " + e.Item)
		}
	}
	for _, s := range []string{e.Object, e.Field, e.Msg} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// fault is an error inside one value, to be completed with the value's place.
type fault struct {
	line  int
	field string
	msg   string
}

func (f *fault) Error() string { return f.msg }
