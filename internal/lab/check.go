package lab

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Check is one thing that a scenario says must hold.
type Check struct {
	Name   string
	Wanted string
	Got    string
	OK     bool
}

// checks collects what a scenario found, and tells it.
type checks struct {
	tell Narrator
	list []Check
}

// add records a check and tells how it went.
func (c *checks) add(name string, ok bool, wanted, got string) {
	c.list = append(c.list, Check{name, wanted, got, ok})
	if ok {
		c.tell.OK("%s: %s", name, got)
	} else {
		c.tell.Fail("%s: got %s, wanted %s", name, got, wanted)
	}
}

// count records that a number must be exactly so.
func (c *checks) count(name string, wanted, got int) {
	c.add(name, wanted == got, fmt.Sprint(wanted), fmt.Sprint(got))
}

// atMost records that a time must not be exceeded.
func (c *checks) atMost(name string, limit, got time.Duration) {
	c.add(name, got <= limit, "at most "+millis(limit), millis(got))
}

// ok reports whether all held.
func (c *checks) ok() bool {
	for _, ch := range c.list {
		if !ch.OK {
			return false
		}
	}
	return true
}

// table writes the checks for a person.
func (c *checks) table(w io.Writer) {
	rows := [][3]string{{"check", "wanted", "got"}}
	for _, ch := range c.list {
		rows = append(rows, [3]string{ch.Name, ch.Wanted, ch.Got})
	}
	var width [2]int
	for _, r := range rows {
		for i := range width {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	for i, r := range rows {
		verdict := "      "
		if i > 0 {
			verdict = "  ok  "
			if !c.list[i-1].OK {
				verdict = "  NOT "
			}
		}
		fmt.Fprintf(w, "%s%s  %s  %s\n", verdict, pad(r[0], width[0]), pad(r[1], width[1]), r[2])
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

// millis prints a time as whole milliseconds.
func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
