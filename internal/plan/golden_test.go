package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata and the design document")

// TestGolden runs the scripts in testdata: the section "script" has commands,
// the other ones are clusters that it names, "want" is what comes out.
//
//	plan CLUSTER [NODE…]  all nodes (or those) move on to that state
//	state NODE            its state
//	flows NODE            its flow table
//	forget NODE           its flow table is lost
//	after TIME            time passes
//	send NODE PACKET      the packet reaches the node, and is followed
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := make(map[string]string)
			for _, f := range ar.Files {
				files[f.Name] = string(f.Data)
			}
			got := script(t, files)
			if *update {
				if _, ok := files["want"]; !ok {
					ar.Files = append(ar.Files, txtar.File{Name: "want"})
				}
				for i := range ar.Files {
					if ar.Files[i].Name == "want" {
						ar.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(files["want"], got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func script(t *testing.T, files map[string]string) string {
	var out strings.Builder
	w := world{now: time.Hour, log: &out}
	for line := range strings.Lines(files["script"]) {
		line = strings.TrimSpace(line)
		command, rest, _ := strings.Cut(line, " ")
		if command == "" || command == "#" {
			continue
		}
		fmt.Fprintf(&out, "> %s\n", line)
		if err := w.command(command, rest, files); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return out.String()
}

func (w *world) command(command, rest string, files map[string]string) error {
	switch command {
	case "plan":
		words := strings.Fields(rest)
		c, err := parseCluster(files[words[0]])
		if err != nil {
			return err
		}
		names := words[1:]
		if len(names) == 0 {
			for _, p := range c.peers {
				names = append(names, p.Name)
			}
		}
		for _, name := range names {
			if w.node(name) == nil {
				w.nodes = append(w.nodes, &member{name: name})
			}
			c.plan(w.node(name), w.now)
		}
		return nil
	case "after":
		d, err := time.ParseDuration(rest)
		w.now += d
		return err
	}
	name, rest, _ := strings.Cut(rest, " ")
	m := w.node(name)
	if m == nil {
		return fmt.Errorf("no node %q", name)
	}
	switch command {
	case "state":
		w.log.WriteString(m.state.String())
	case "flows":
		w.log.WriteString(m.flows.String())
	case "forget":
		m.flows = FlowTable{}
	case "send":
		p, err := parsePacket(rest)
		if err != nil {
			return err
		}
		w.send(m, p)
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}
