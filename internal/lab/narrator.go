package lab

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Narrator tells a person what happens, as it happens.
type Narrator interface {
	Step(format string, args ...any) // something begins or is done to the network
	Info(format string, args ...any) // something was noticed
	OK(format string, args ...any)   // something holds
	Fail(format string, args ...any) // something doesn't
}

// The colours of a terminal.
const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

// teller is a Narrator that writes lines with the time since it began.
type teller struct {
	mu     sync.Mutex
	w      io.Writer
	start  time.Time
	colour bool
	// quiet leaves only failures.
	quiet bool
}

// newNarrator returns a Narrator that writes to w, in colour if that is a
// terminal. With quiet it tells of failures alone.
func newNarrator(w io.Writer, quiet bool) Narrator {
	return &teller{w: w, start: time.Now(), colour: isTerminal(w), quiet: quiet}
}

func (t *teller) Step(format string, args ...any) { t.tell(bold, "•", format, args) }
func (t *teller) Info(format string, args ...any) { t.tell("", " ", format, args) }
func (t *teller) OK(format string, args ...any)   { t.tell(green, "✓", format, args) }
func (t *teller) Fail(format string, args ...any) { t.tell(red, "✗", format, args) }

func (t *teller) tell(colour, sign, format string, args []any) {
	if t.quiet && colour != red {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	on, off := colour, plain
	if !t.colour || colour == "" {
		on, off = "", ""
	}
	text := fmt.Sprintf(format, args...)
	for i, line := range strings.Split(text, "\n") {
		stamp := fmt.Sprintf("%7.3fs", time.Since(t.start).Seconds())
		if i > 0 {
			stamp, sign = strings.Repeat(" ", len(stamp)), " "
		}
		fmt.Fprintf(t.w, "%s %s%s %s%s\n", stamp, on, sign, line, off)
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
