package electiontest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Run carries out one command and returns what there is to say about it.
//
//	seed N                      of the dice for losses, delays and phases
//	split N                     at most N claims in a message
//	rebalance DURATION          RebalanceAfter of nodes started from now on
//	bug NAME                    break a rule: no-yield, no-epochs, no-handover, no-loss
//	add-nodes NAME...           all started now
//	crash NAME...               kill -9
//	restart NAME... [clock=D]   start again, the wall clock wrong by D
//	pause NAME... | resume NAME...
//	self REASON NAME...         what a node says of itself, e.g. draining
//	add-vips ADDR... | remove-vips ADDR...
//	lack NAME ADDR... | have NAME ADDR...   a snapshot that differs
//	refuse REASON NAME ADDR... [on=NAME,...] [in the snapshots of these nodes]
//	cut LINK... | heal LINK...  a>b one way, a=b both, * for all
//	loss P LINK... | dup P LINK...
//	delay D JITTER LINK...      reorders if the jitter is long
//	drop N LINK...              lose the next N messages
//	advance DURATION
//	status | candidates NAME ADDR
//	expect ADDR NAME|nobody     who alone answers
//	settled                     one answers for each VIP, and all agree
//	balanced                    no two running nodes' loads differ by more than one
//	quiet DURATION              time passes and nothing changes
//	mark | moves NAME | silence DURATION
//	                            since the mark just the VIPs of a node moved, and
//	                            none was silent for longer
func (e *Env) Run(line string) string {
	e.log.Reset()
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return ""
	}
	if err := e.run(fields[0], fields[1:]); err != nil {
		fmt.Fprintf(&e.log, "error: %v\n", err)
	}
	return e.log.String()
}

// Broken returns the first promise that was not kept, or "".
func (e *Env) Broken() string { return e.checker.broken }

func (e *Env) run(cmd string, args []string) error {
	switch cmd {
	case "advance", "status", "candidates", "expect", "settled", "balanced", "quiet", "mark", "moves", "silence":
		return e.watch(cmd, args)
	}
	e.checker.disturbed = e.now
	err := e.change(cmd, args)
	e.checker.disturb()
	return err
}

// watch runs the commands that leave the world as it is.
func (e *Env) watch(cmd string, args []string) error {
	switch cmd {
	case "status":
		e.status()
	case "settled":
		e.checker.checkSettled()
	case "balanced":
		e.checker.checkBalanced()
	case "mark":
		e.checker.mark, e.checker.worst = e.checker.owners(), 0
	default:
		if len(args) == 0 {
			return fmt.Errorf("%s: argument missing", cmd)
		}
	}
	switch cmd {
	case "advance", "quiet", "silence":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		switch cmd {
		case "quiet":
			e.checker.checkQuiet(d)
		case "silence":
			e.checker.checkSilence(d)
		default:
			e.advance(d)
		}
	case "moves":
		e.checker.checkMoves(args[0])
	case "candidates", "expect":
		if len(args) != 2 {
			return fmt.Errorf("%s: want two arguments", cmd)
		}
		if cmd == "expect" {
			return e.expect(args[0], args[1])
		}
		return e.candidates(args[0], args[1])
	}
	return nil
}

// change runs the commands that change the world.
func (e *Env) change(cmd string, args []string) error {
	switch cmd {
	case "add-nodes":
		return e.addNodes(args)
	case "crash", "pause", "resume", "restart", "self", "lack", "have", "refuse":
		return e.changeNodes(cmd, args)
	case "cut", "heal", "loss", "dup", "delay", "drop":
		return e.changeLinks(cmd, args)
	case "add-vips", "remove-vips":
		addrs, err := parseAddrs(args)
		if err != nil {
			return err
		}
		e.vips = slices.DeleteFunc(e.vips, func(a netip.Addr) bool { return slices.Contains(addrs, a) })
		if cmd == "add-vips" {
			e.vips = append(e.vips, addrs...)
			slices.SortFunc(e.vips, netip.Addr.Compare)
		}
		for _, a := range addrs {
			delete(e.checker.answering, a)
		}
		for _, n := range e.nodes {
			e.pushSnapshot(n)
		}
		return nil
	}
	if len(args) != 1 {
		return fmt.Errorf("%s: unknown, or want one argument", cmd)
	}
	var err error
	switch cmd {
	case "seed":
		var s uint64
		s, err = strconv.ParseUint(args[0], 10, 64)
		e.reseed(s)
	case "split":
		e.split, err = strconv.Atoi(args[0])
	case "rebalance":
		e.rebalance, err = time.ParseDuration(args[0])
	case "bug":
		e.bug = args[0]
	default:
		return fmt.Errorf("%s: unknown", cmd)
	}
	return err
}

func (e *Env) addNodes(names []string) error {
	var added []*node
	for _, name := range names {
		if e.node(name) != nil || len(e.nodes) == 64 {
			return fmt.Errorf("add-nodes: %s is there or too many are", name)
		}
		n := &node{
			index: len(e.nodes), name: name,
			refused: make(map[netip.Addr]map[string]lb.Refusal),
			lacks:   make(map[netip.Addr]bool),
		}
		e.nodes = append(e.nodes, n)
		added = append(added, n)
	}
	for _, n := range e.nodes {
		for len(n.heard) < len(e.nodes) {
			n.heard = append(n.heard, -1)
		}
	}
	for _, n := range added {
		e.start(n)
	}
	return nil
}

// changeNodes runs the commands about single nodes.
func (e *Env) changeNodes(cmd string, args []string) error {
	args, opts := splitOptions(args)
	reason := lb.Eligible
	if cmd == "self" || cmd == "refuse" {
		if len(args) == 0 {
			return fmt.Errorf("%s: reason missing", cmd)
		}
		var err error
		if reason, err = parseRefusal(args[0]); err != nil {
			return err
		}
		args = args[1:]
	}
	names, rest := args, []string(nil)
	if cmd == "refuse" || cmd == "lack" || cmd == "have" {
		names, rest = args[:min(1, len(args))], args[min(1, len(args)):]
	}
	addrs, err := parseAddrs(rest)
	if err != nil {
		return err
	}
	for _, name := range names {
		n := e.node(name)
		if n == nil {
			return fmt.Errorf("%s: no node %s", cmd, name)
		}
		switch cmd {
		case "crash":
			n.m, n.paused, n.inbox = nil, false, nil
			n.life++
		case "restart":
			if n.clock, err = parseDuration(opts["clock"]); err != nil {
				return err
			}
			e.start(n)
		case "pause":
			n.paused = n.m != nil
		case "resume":
			e.resume(n)
		case "self":
			n.self = reason
			if n.running() {
				n.m.SetSelf(e.now, reason)
				e.settle(n)
			}
		case "refuse":
			e.refuse(n, reason, addrs, opts["on"])
		case "lack", "have":
			for _, a := range addrs {
				n.lacks[a] = cmd == "lack"
			}
			e.pushSnapshot(n)
		}
	}
	return nil
}

// refuse changes what the snapshots of some nodes say about n.
func (e *Env) refuse(n *node, reason lb.Refusal, addrs []netip.Addr, on string) {
	for _, o := range e.nodes {
		if on != "" && !slices.Contains(strings.Split(on, ","), o.name) {
			continue
		}
		for _, a := range addrs {
			if o.refused[a] == nil {
				o.refused[a] = make(map[string]lb.Refusal)
			}
			if reason == lb.Eligible {
				delete(o.refused[a], n.name)
			} else {
				o.refused[a][n.name] = reason
			}
		}
		e.pushSnapshot(o)
	}
}

// pushSnapshot tells a running node the VIPs.
func (e *Env) pushSnapshot(n *node) {
	if n.running() {
		n.m.SetVIPs(e.now, e.snapshot(n))
		e.settle(n)
	}
}

// resume lets a paused node run again. The socket's buffer is read before
// anybody is judged dead.
func (e *Env) resume(n *node) {
	if !n.paused {
		return
	}
	n.paused, n.resumed = false, e.now
	inbox := n.inbox
	n.inbox = nil
	// A socket keeps a limited number of messages, the oldest ones.
	for _, msg := range inbox[:min(len(inbox), 64)] {
		e.deliver(n, msg)
	}
	n.m.SetVIPs(e.now, e.snapshot(n))
	n.m.SetSelf(e.now, n.self)
	e.settle(n)
}

func (e *Env) node(name string) *node {
	for _, n := range e.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func parseAddrs(args []string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	for _, s := range args {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, a)
	}
	return addrs, nil
}

func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	return time.ParseDuration(s)
}

// parseRefusal returns the refusal of that name.
func parseRefusal(name string) (lb.Refusal, error) {
	for r := lb.Eligible; r <= lb.HearsNobody; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("no reason %q", name)
}

// splitOptions divides words from key=value options.
func splitOptions(args []string) (words []string, opts map[string]string) {
	opts = make(map[string]string)
	for _, s := range args {
		if k, v, ok := strings.Cut(s, "="); ok {
			opts[k] = v
		} else {
			words = append(words, s)
		}
	}
	return words, opts
}
