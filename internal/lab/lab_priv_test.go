package lab

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
	"github.com/fairlead-lb/fairlead/internal/link/linktest"
)

// smallSpec is the least that is a lab.
func smallSpec() clusterSpec {
	s := baseSpec()
	s.nodes, s.podsPerNode = 1, 1
	return s
}

// gone checks that nothing of a lab is left but its directory.
func gone(t *testing.T, c *cluster) {
	t.Helper()
	left, err := netns.List(c.record.Spec.Prefix)
	if err != nil || len(left) > 0 {
		t.Errorf("namespaces left: %v, %v", left, err)
	}
	if _, err := os.Stat(c.record.path); !os.IsNotExist(err) {
		t.Errorf("record left: %v", err)
	}
}

// An agent that ends at once fails the run with its log, and leaves nothing.
func TestAgentThatDoesNotStart(t *testing.T) {
	linktest.RequirePrivilege(t)
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "agent")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho \"no such flag\"\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := Run(t.Context(), Options{Binary: binary, Scenario: "owner-crash", Dir: dir, Out: &out})
	if err == nil {
		t.Fatalf("it ran:\n%s", &out)
	}
	for _, want := range []string{"play owner-crash", "agent n", "exit status 2", "no such flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	records, err := loadRecords()
	if err != nil {
		t.Error(err)
	}
	for _, r := range records {
		if strings.HasPrefix(r.Dir, dir) {
			t.Errorf("record %s is left", r.path)
		}
	}
}

func TestUnknownScenario(t *testing.T) {
	_, err := Run(t.Context(), Options{Scenario: "nothing"})
	if err == nil || !strings.Contains(err.Error(), "owner-crash") {
		t.Errorf("the error should list what there is: %v", err)
	}
}

func TestPreflight(t *testing.T) {
	linktest.RequirePrivilege(t)
	if err := preflight(os.Args[0]); err != nil {
		t.Error(err)
	}
	err := preflight(filepath.Join(t.TempDir(), "nothing"))
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without a binary: %v", err)
	}
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	linktest.RequirePrivilege(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := newCluster(ctx, newNarrator(io.Discard, true), smallSpec(), os.Args[0], dir); err == nil {
		t.Fatal("built")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A lab is left alone while its process lives, and removed with its agents
// when that is gone.
func TestDown(t *testing.T) {
	linktest.RequirePrivilege(t)
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "agent")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(t.Context(), newNarrator(io.Discard, true), smallSpec(), binary, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.startAgents(); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	down := func() {
		t.Helper()
		// Not Down, which is for every lab on the machine.
		r, err := loadRecord(c.record.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.takeDown(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
	}
	down()
	if want := "lab " + c.Prefix + ": run by process"; !strings.Contains(out.String(), want) {
		t.Errorf("told %q, want %q", &out, want)
	}
	if names, err := netns.List(c.Prefix); err != nil || len(names) == 0 {
		t.Fatalf("a lab that is run was taken down: %v, %v", names, err)
	}

	// As after a crash: the owner is a process that was.
	c.record.Owner.Start--
	if err := c.record.save(); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	down()
	if want := "lab " + c.Prefix + ": removed"; !strings.Contains(out.String(), want) {
		t.Errorf("told %q, want %q", &out, want)
	}
	select {
	case <-c.agents["n1"].exited:
	default:
		t.Error("the agent lives")
	}
	gone(t, c)
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("its directory is left: %v", err)
	}
}

// The pods of a standing lab are served by a process that opens what another
// built.
func TestPodsOfAStandingLab(t *testing.T) {
	linktest.RequirePrivilege(t)
	defer goleak.VerifyNone(t)
	c, err := newCluster(t.Context(), newNarrator(io.Discard, true), smallSpec(), os.Args[0], t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := ServePods(ctx, c.record.path, &out); err != nil || out.String() != "serving\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	gone(t, c)
	if err := ServePods(t.Context(), c.record.path, io.Discard); err == nil {
		t.Error("served pods of no lab")
	}
}
