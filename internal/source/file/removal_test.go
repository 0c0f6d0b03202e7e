package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// confirming waits until Run has seen that something is gone.
func (r *running) confirming(gone string) {
	r.t.Helper()
	r.until("confirming that "+gone+" is gone", func() bool { return strings.Contains(r.logs.String(), "gone=\""+gone) })
}

// next waits for the next snapshot, which must have exactly these services.
func (r *running) next(names ...string) {
	r.t.Helper()
	select {
	case s := <-r.Updates():
		if got := services(s); strings.Join(got, " ") != strings.Join(names, " ") {
			r.t.Errorf("published services %v, want %v", got, names)
		}
	case <-time.After(deadline):
		r.t.Fatalf("nothing published; Err: %v", r.Err())
	}
}

// TestRunWrittenInPlace: a file that is empty for a while withdraws nothing.
func TestRunWrittenInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	writeFile(t, path, serviceNamed("a"))
	r := start(t, dir)
	r.next("a")
	must(t, os.Truncate(path, 0))
	r.confirming("Service default/a")
	both := fmt.Appendf(serviceNamed("a"), "---\n%s", strings.ReplaceAll(string(serviceNamed("b")), "200", "201"))
	writeFile(t, path, both)
	r.next("a", "b")
}

// TestRunEmptyForAMoment: the same of a whole directory, of which no watch tells
// that it is back.
func TestRunEmptyForAMoment(t *testing.T) {
	root := t.TempDir()
	full, empty, dir := filepath.Join(root, "full"), filepath.Join(root, "empty"), filepath.Join(root, "up", "dir")
	writeFile(t, filepath.Join(full, "a.yaml"), serviceNamed("a"))
	must(t, os.Mkdir(empty, 0o755))
	must(t, os.Mkdir(filepath.Dir(dir), 0o755))
	must(t, os.Symlink("../link", dir))
	swap := func(to string) {
		must(t, os.Symlink(to, filepath.Join(root, "tmp")))
		must(t, os.Rename(filepath.Join(root, "tmp"), filepath.Join(root, "link")))
	}
	swap("full")
	r := start(t, dir)
	r.next("a")
	swap("empty")
	r.confirming("Service default/a")
	writeFile(t, filepath.Join(full, "b.yaml"), serviceNamed("b"))
	swap("full")
	r.next("a", "b")
}

// TestRunRemoval: what is really gone is believed after a second, what is only
// new at once.
func TestRunRemoval(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b"} {
		writeFile(t, filepath.Join(dir, n+".yaml"), serviceNamed(n))
	}
	r := start(t, dir)
	r.next("a", "b")
	begin := time.Now()
	must(t, os.Remove(filepath.Join(dir, "a.yaml")))
	r.next("b")
	took := time.Since(begin)
	if took < confirmation {
		t.Errorf("a removal was published after %v", took)
	}
	t.Logf("published after %v", took)
	if n := strings.Count(r.logs.String(), "is gone"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, r.logs)
	}
	writeFile(t, filepath.Join(dir, "c.yaml"), serviceNamed("c"))
	r.next("b", "c")
	if n := r.logs.lines(); n != 1 {
		t.Errorf("what is new was waited for:\n%s", r.logs)
	}
}

// TestStays: a directory is watched for a second, and from the last change on.
func TestStays(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), nil)
	seen, err := look(dir)
	must(t, err)
	for _, tt := range []struct {
		name    string
		change  time.Duration // when, or 0
		want    bool
		took    time.Duration
		looking []stamp
	}{
		{name: "unchanged", want: true, took: confirmation, looking: seen},
		{name: "changed", change: 200 * time.Millisecond, took: 200*time.Millisecond + quiet, looking: seen},
		{name: "changed unseen", took: confirmation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &watcher{changed: make(chan struct{}, 1)}
				if tt.change > 0 {
					time.AfterFunc(tt.change, func() { w.changed <- struct{}{} })
				}
				begin := time.Now()
				stays, err := newSource(dir).stays(context.Background(), w, tt.looking)
				if took := time.Since(begin); stays != tt.want || took != tt.took || err != nil {
					t.Errorf("stays %v after %v (%v), want %v after %v", stays, took, err, tt.want, tt.took)
				}
			})
		})
	}
}

// TestDoubt: a directory that never comes to rest is believed in the end, if no
// load in between had everything.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d doubt
		for i, tt := range []struct {
			after             time.Duration
			gone, began, wait bool
		}{
			{0, false, false, false},
			{0, true, true, true},
			{stubbornness - 1, true, false, true},
			{1, false, false, false},
			{1, true, true, true},
			{stubbornness, true, false, false},
		} {
			time.Sleep(tt.after)
			if began, wait := d.about(tt.gone); began != tt.began || wait != tt.wait {
				t.Errorf("load %d: began %v, wait %v", i, began, wait)
			}
		}
	})
}

// TestTakenAway: what counts as a removal.
func TestTakenAway(t *testing.T) {
	const node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\n"
	const pool = "apiVersion: fairlead.dev/v1alpha1\nkind: AddressPool\nmetadata: {name: p}\nspec: {addresses: [10.77.0.0/24]}\n---\n"
	const announcement = "apiVersion: fairlead.dev/v1alpha1\nkind: Announcement\nmetadata: {name: r}\n---\n"
	svc := func(addresses, ports string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {fairlead.dev/addresses: \"" + addresses +
			"\"}}\nspec: {type: LoadBalancer, ports: [" + ports + "]}\n---\n"
	}
	slice := func(family, port, addresses string) string {
		return "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s-" + strings.ToLower(family) + ", labels: {kubernetes.io/service-name: s}}\n" +
			"addressType: " + family + "\nports: [{name: " + port + ", port: 8080}]\nendpoints: [" + addresses + "]\n---\n"
	}
	const x, y = "{name: x, port: 80}", "{name: y, port: 81}"
	const e1, e2 = "{addresses: [10.244.0.1], nodeName: n}", "{addresses: [10.244.0.2], nodeName: n}"
	const e6 = "{addresses: ['2001:db8::1'], nodeName: n}"
	for _, tt := range []struct{ name, last, next, want string }{
		{"node", node, "", "Node n"},
		{"pool", pool, "", "AddressPool p"},
		{"announcement", announcement, "", "Announcement r"},
		{"service", svc("10.77.0.1", x), "", "Service default/s|Service default/s: address 10.77.0.1"},
		{"address", svc("10.77.0.1,10.77.0.2", x), svc("10.77.0.2", x), "Service default/s: address 10.77.0.1"},
		{"order of addresses", svc("10.77.0.1,10.77.0.2", x), svc("10.77.0.2,10.77.0.1", x), ""},
		{"slice", svc("", x) + slice("IPv4", "x", e1), svc("", x), "Service default/s: IPv4 endpoints of port 80/TCP"},
		{"all endpoints", svc("", x) + slice("IPv4", "x", e1), svc("", x) + slice("IPv4", "x", ""), "Service default/s: IPv4 endpoints of port 80/TCP"},
		{"all of a family", svc("", x) + slice("IPv4", "x", e1) + slice("IPv6", "x", e6), svc("", x) + slice("IPv4", "x", e1), "Service default/s: IPv6 endpoints of port 80/TCP"},
		{"an endpoint", svc("", x) + slice("IPv4", "x", e1+", "+e2), svc("", x) + slice("IPv4", "x", e2), ""},
		{"endpoints replaced", svc("", x) + slice("IPv4", "x", e1), svc("", x) + slice("IPv4", "x", e2), ""},
		{"a port with endpoints", svc("", x+", "+y) + slice("IPv4", "y", e1), svc("", x), "Service default/s: IPv4 endpoints of port 81/TCP"},
		{"a port without", svc("", x+", "+y) + slice("IPv4", "x", e1), svc("", x) + slice("IPv4", "x", e1), ""},
		{"additions", svc("10.77.0.1", x), node + pool + announcement + svc("10.77.0.1,10.77.0.2", x+", "+y) + slice("IPv4", "x", e1), ""},
		{"a label", node, strings.Replace(node, "name: n", "name: n, labels: {a: b}", 1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last, err := load([]manifest{{path: "last.yaml", data: []byte(tt.last)}})
			must(t, err)
			next, err := load([]manifest{{path: "next.yaml", data: []byte(tt.next)}})
			must(t, err)
			var got []string
			for _, p := range takenAway(last, next) {
				got = append(got, p.String())
			}
			if g := strings.Join(got, "|"); g != tt.want {
				t.Errorf("got %s, want %s", g, tt.want)
			}
			if g := takenAway(nil, next); g != nil {
				t.Errorf("from nothing: %v", g)
			}
			if g := takenAway(last, nil); g != nil {
				t.Errorf("by a bad load: %v", g)
			}
		})
	}
}
