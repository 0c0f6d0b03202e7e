package electiontest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// changeLinks runs the commands about links.
func (e *Env) changeLinks(cmd string, args []string) error {
	var p float64
	var d, jitter time.Duration
	var count int
	var err error
	skip := 1
	switch {
	case cmd == "cut" || cmd == "heal":
		skip = 0
	case cmd == "delay":
		skip = 2
	}
	if len(args) <= skip {
		return fmt.Errorf("%s: arguments missing", cmd)
	}
	switch cmd {
	case "loss", "dup":
		p, err = strconv.ParseFloat(args[0], 64)
	case "drop":
		count, err = strconv.Atoi(args[0])
	case "delay":
		if d, err = time.ParseDuration(args[0]); err == nil {
			jitter, err = time.ParseDuration(args[1])
		}
	}
	if err != nil {
		return err
	}
	for _, spec := range args[skip:] {
		links, err := e.parseLinks(spec)
		if err != nil {
			return err
		}
		for _, l := range links {
			switch cmd {
			case "cut":
				l.cut = true
			case "heal":
				*l = link{}
			case "loss":
				l.loss = p
			case "dup":
				l.dup = p
			case "drop":
				l.drop = count
			case "delay":
				l.delay, l.jitter = d, jitter
			}
			l.changed = e.now
		}
	}
	return nil
}

// parseLinks returns the directions that a spec like n1>n2, n1=* means.
func (e *Env) parseLinks(spec string) ([]*link, error) {
	i := strings.IndexAny(spec, ">=")
	if i < 0 {
		return nil, fmt.Errorf("link %q: want a>b or a=b", spec)
	}
	from, err := e.match(spec[:i])
	if err != nil {
		return nil, err
	}
	to, err := e.match(spec[i+1:])
	if err != nil {
		return nil, err
	}
	var links []*link
	for _, a := range from {
		for _, b := range to {
			if a == b {
				continue
			}
			links = append(links, e.link(a.index, b.index))
			if spec[i] == '=' {
				links = append(links, e.link(b.index, a.index))
			}
		}
	}
	return links, nil
}

func (e *Env) match(name string) ([]*node, error) {
	if name == "*" {
		return e.nodes, nil
	}
	if n := e.node(name); n != nil {
		return []*node{n}, nil
	}
	return nil, fmt.Errorf("no node %q", name)
}
