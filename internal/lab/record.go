package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/topo"
)

// recordDir is where each lab on the machine has its record.
const recordDir = "/run/fairlead-lab"

// prefixPattern is what the prefixes of labs look like. Nothing whose name
// doesn't begin so is ever removed.
var prefixPattern = regexp.MustCompile(`^fl[0-9a-f]{4}$`)

// record is what a lab writes down about itself before it makes anything, so
// that what a crash leaves behind can be found and told from what others own.
type record struct {
	Spec   topo.Spec `json:"spec"`
	Dir    string    `json:"dir"` // logs, manifests and agents' state
	Binary string    `json:"binary"`
	// Standing is true for a lab that is meant to outlive the process that built it.
	Standing bool `json:"standing"`
	// Owner is the process that serves the pods and takes the lab down.
	Owner  process   `json:"owner"`
	Agents []process `json:"agents"`

	path string // the file that it is in
}

// process is a process that can't be mistaken for a later one with its id.
type process struct {
	PID int `json:"pid"`
	// Start is when it began, in clock ticks since boot.
	Start uint64 `json:"start"`
}

// describe returns the running process of that id.
func describe(pid int) (process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, fmt.Errorf("find process %d: %w", pid, err)
	}
	st, err := parseStat(string(b))
	if err != nil {
		return process{}, fmt.Errorf("read stat of process %d: %w", pid, err)
	}
	return process{pid, st.start}, nil
}

// alive reports whether the process still runs.
func (p process) alive() bool {
	now, err := describe(p.PID)
	return err == nil && now == p
}

// kill sends SIGKILL to the process if it still runs. The process group of an
// agent goes with it.
func (p process) kill() error {
	if !p.alive() {
		return nil
	}
	for _, pid := range []int{-p.PID, p.PID} {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
			return fmt.Errorf("kill process %d: %w", p.PID, err)
		}
	}
	return nil
}

// procStat is what the lab reads of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	cpu   uint64 // ticks in user and kernel mode
	start uint64 // ticks since boot
}

// parseStat reads /proc/PID/stat. The name in parentheses may itself hold
// spaces and parentheses.
func parseStat(s string) (procStat, error) {
	i := strings.LastIndexByte(s, ')')
	if i < 0 {
		return procStat{}, errors.New("no command name")
	}
	f := strings.Fields(s[i+1:]) // f[0] is the third field, the state
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("%d fields after the name, want 20", len(f))
	}
	var st procStat
	for _, n := range []struct {
		field int
		add   *uint64
	}{{11, &st.cpu}, {12, &st.cpu}, {19, &st.start}} {
		v, err := strconv.ParseUint(f[n.field], 10, 64)
		if err != nil {
			return procStat{}, fmt.Errorf("field %d: %w", n.field+3, err)
		}
		*n.add += v
	}
	return st, nil
}

// save writes the record, replacing what it was.
func (r *record) save() error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write record of lab %s: %w", r.Spec.Prefix, err)
	}
	if err := os.MkdirAll(recordDir, 0o755); err != nil {
		return fmt.Errorf("write record of lab %s: %w", r.Spec.Prefix, err)
	}
	r.path = filepath.Join(recordDir, r.Spec.Prefix+".json")
	tmp := r.path + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write record of lab %s: %w", r.Spec.Prefix, err)
	}
	if err := os.Rename(tmp, r.path); err != nil {
		return fmt.Errorf("write record of lab %s: %w", r.Spec.Prefix, err)
	}
	return nil
}

// remove forgets the lab.
func (r *record) remove() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record of lab %s: %w", r.Spec.Prefix, err)
	}
	return nil
}

// loadRecord reads a record and checks that it speaks of a lab.
func loadRecord(path string) (*record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return parseRecord(b, path)
}

func parseRecord(b []byte, path string) (*record, error) {
	r := &record{path: path}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read record %s: %w", path, err)
	}
	// What the record names will be removed: trust no other shape of name.
	if !prefixPattern.MatchString(r.Spec.Prefix) {
		return nil, fmt.Errorf("read record %s: %q is not the prefix of a lab", path, r.Spec.Prefix)
	}
	if !filepath.IsAbs(r.Dir) || filepath.Clean(r.Dir) != r.Dir || !strings.HasPrefix(filepath.Base(r.Dir), dirPrefix) {
		return nil, fmt.Errorf("read record %s: %q is not the directory of a lab", path, r.Dir)
	}
	return r, nil
}

// loadRecords reads the records of all labs on the machine, sorted by prefix.
func loadRecords() ([]*record, error) {
	paths, err := filepath.Glob(filepath.Join(recordDir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	slices.Sort(paths)
	var records []*record
	var errs []error
	for _, p := range paths {
		r, err := loadRecord(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, r)
	}
	return records, errors.Join(errs...)
}
