package electiontest

import (
	"fmt"
	"strings"
)

// RunScript runs a script in a new Env and returns it with the output that
// there is now. A script is made of blocks divided by empty lines. A block is
// any number of comments (#) and commands, then a line "----", then the
// expected output of its commands.
func RunScript(script string) (string, *Env) {
	e := New()
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(script), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		commands, _, _ := strings.Cut(strings.TrimSpace(block)+"\n", "----\n")
		var said strings.Builder
		asked := false
		for line := range strings.Lines(commands) {
			line = strings.TrimSpace(line)
			fmt.Fprintln(&out, line)
			if !strings.HasPrefix(line, "#") {
				asked = true
				said.WriteString(e.Run(line))
			}
		}
		if !asked {
			continue // only a comment
		}
		if said.Len() == 0 {
			said.WriteString("ok\n")
		}
		fmt.Fprintf(&out, "----\n%s", said.String())
	}
	return out.String(), e
}
