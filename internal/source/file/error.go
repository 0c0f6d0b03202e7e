package file

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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
	for _, s := range []string{plain(e.Object), plain(e.Field), e.Msg} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// plain is s, quoted if it has anything but printable characters: words of a
// file must not move the cursor of a terminal or begin another line.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) || !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	return s
}

// fault is an error inside one value, to be completed with the value's place.
type fault struct {
	line  int
	field string
	msg   string
}

func (f *fault) Error() string { return f.msg }
