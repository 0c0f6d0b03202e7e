package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

// Down removes labs that were left standing, and what labs left behind that
// were killed. A lab that is being run, and whatever has no record of being a
// lab's, is left alone.
func Down(ctx context.Context, out io.Writer) error {
	records, err := loadRecords()
	errs := []error{err}
	for _, r := range records {
		errs = append(errs, r.takeDown(ctx, out))
	}
	if len(records) == 0 && err == nil {
		fmt.Fprintln(out, "no lab is standing")
	}
	return errors.Join(errs...)
}

// takeDown removes the lab unless it is being run.
func (r *record) takeDown(ctx context.Context, out io.Writer) error {
	if !r.Standing && r.Owner.alive() {
		fmt.Fprintf(out, "lab %s: run by process %d: left alone\n", r.Spec.Prefix, r.Owner.PID)
		return nil
	}
	if err := r.demolish(ctx); err != nil {
		return fmt.Errorf("take lab %s down: %w", r.Spec.Prefix, err)
	}
	fmt.Fprintf(out, "lab %s: removed\n", r.Spec.Prefix)
	return nil
}

// demolish ends a lab's processes and removes its namespaces, its directory
// and at last its record.
func (r *record) demolish(ctx context.Context) error {
	processes := append([]process{r.Owner}, r.Agents...)
	names, err := netns.List(r.Spec.Prefix + "-")
	if err != nil {
		return err
	}
	// An agent may have been started just before the crash, and not be in the
	// record: it is known by its program and where it lives.
	for _, name := range names {
		strays, err := r.agentsIn(name)
		if err != nil {
			return err
		}
		processes = append(processes, strays...)
	}
	for _, p := range processes {
		if err := p.kill(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	for slices.ContainsFunc(processes, process.alive) {
		if !sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("its processes don't end: %w", context.Cause(ctx))
		}
	}
	for _, name := range names {
		if err := netns.Delete(name); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return fmt.Errorf("remove its files: %w", err)
	}
	return r.remove()
}

// agentsIn returns the processes in a namespace that run the lab's binary.
func (r *record) agentsIn(name string) ([]process, error) {
	pids, err := netns.Processes(name)
	if err != nil {
		return nil, err
	}
	var found []process
	for _, pid := range pids {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil || exe != r.Binary {
			continue
		}
		if p, err := describe(pid); err == nil {
			found = append(found, p)
		}
	}
	return found, nil
}
