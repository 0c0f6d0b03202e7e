package electiontest

import (
	"fmt"
	"net/netip"
	"strings"
)

// expect checks who answers for an address.
func (e *Env) expect(addr, want string) error {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return err
	}
	var who []string
	for _, n := range e.nodes {
		if n.answers(a) {
			who = append(who, n.name)
		}
	}
	if got := strings.Join(who, ","); got != want && (want != "nobody" || got != "") {
		e.checker.fail("%s: %q answers, want %s", a, got, want)
	}
	return nil
}

// status prints how every running node stands to every VIP.
func (e *Env) status() {
	for _, a := range e.vips {
		fmt.Fprintf(&e.log, "%s:", a)
		for _, n := range e.nodes {
			switch {
			case n.m == nil:
				fmt.Fprintf(&e.log, " %s crashed;", n.name)
				continue
			case n.paused:
				fmt.Fprintf(&e.log, " %s paused;", n.name)
				continue
			}
			n.refresh()
			o, ok := n.views[a]
			if !ok {
				continue
			}
			fmt.Fprintf(&e.log, " %s %s", n.name, o.State)
			if o.Owner != n.name && o.Owner != "" {
				fmt.Fprintf(&e.log, " of %s", o.Owner)
			}
			if o.Owner == n.name {
				fmt.Fprintf(&e.log, " epoch %d generation %d", o.Epoch, o.Generation)
			}
			if o.First {
				e.log.WriteString(" first")
			}
			e.log.WriteString(";")
		}
		e.log.WriteString("\n")
	}
}

// candidates prints the candidates for a VIP as a node sees them.
func (e *Env) candidates(name, addr string) error {
	n := e.node(name)
	if n == nil || !n.running() {
		return fmt.Errorf("%s does not run", name)
	}
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return err
	}
	n.refresh()
	for _, c := range n.views[a].Candidates {
		fmt.Fprintf(&e.log, "%s alive=%t %s\n", c.Node, c.Alive, c.Refusal)
	}
	return nil
}
