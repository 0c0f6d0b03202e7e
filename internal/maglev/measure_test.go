package maglev

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite the tables in the design document")

const document = "../../docs/design/020-maglev.md"

// published compares text with the block of that name in the design document:
//
//	<!-- measured: name -->
//	```text
//	…
//	```
func published(t *testing.T, name, text string) {
	t.Helper()
	t.Logf("%s\n%s", name, text)
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin := fmt.Sprintf("<!-- measured: %s -->\n```text\n", name)
	before, rest, found := strings.Cut(string(doc), begin)
	block, after, closed := strings.Cut(rest, "```\n")
	switch {
	case !found || !closed:
		t.Fatalf("%s has no block for %q", document, name)
	case block == text:
	case *rewrite:
		if err := os.WriteFile(document, []byte(before+begin+text+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has other numbers for %q: run this test with -update", document, name)
	}
}

// rendezvous is the table in which each slot belongs to the endpoint with the
// highest hash for it: nothing moves that need not, and shares are left to
// chance.
func rendezvous(seed uint64, size int, endpoints []Endpoint) []uint16 {
	return bounded(seed, size, size, endpoints)
}

// bounded is rendezvous where no endpoint gets more than limit slots, plus one
// when all have that many.
func bounded(seed uint64, size, limit int, endpoints []Endpoint) []uint16 {
	type wish struct {
		score uint64
		slot  int
		index uint16
	}
	var wishes []wish
	for i, e := range endpoints {
		h := absorb(absorb16(seed, e.Key.Addr().As16()), uint64(e.Key.Port()))
		for s := range size {
			wishes = append(wishes, wish{finish(absorb(h, uint64(s))), s, uint16(i + 1)})
		}
	}
	slices.SortFunc(wishes, func(a, b wish) int {
		if a.score > b.score {
			return -1
		}
		return 1
	})
	slots, got := make([]uint16, size), make([]int, len(endpoints)+1)
	for left := size; left > 0; limit++ {
		for _, w := range wishes {
			if slots[w.slot] == 0 && got[w.index] < limit {
				slots[w.slot] = w.index
				got[w.index]++
				left--
			}
		}
	}
	return slots
}

// spread is the largest share of an endpoint, in percent above the mean.
func spread(slots []uint16, n int) float64 {
	most := slices.Max(counts(slots, n))
	return 100 * (float64(most)*float64(n)/float64(len(slots)) - 1)
}

// innocent is the part of the hashes, in percent, that change their endpoint
// when one is removed although theirs stays.
func innocent(n, removals int, table func([]Endpoint) []uint16) float64 {
	all := cluster(n)
	x := table(all)
	total := 0
	for r := range removals {
		gone := r * n / removals
		left := slices.Delete(slices.Clone(all), gone, gone+1)
		total += moved(x, all, table(left), left)
		for i := range uint64(1 << 16) {
			if int(x[SlotOf(i<<48, len(x))]) == gone+1 {
				total--
			}
		}
	}
	return 100 * float64(total) / float64(removals<<16)
}

// mean is the mean over some seeds.
func mean(f func(seed uint64) float64) float64 {
	const seeds = 3
	sum := 0.0
	for seed := range uint64(seeds) {
		sum += f(seed)
	}
	return sum / seeds
}

// How even the tables are and what moves when an endpoint is removed.
func TestMeasureDisruption(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "                    maglev, 32 slots     maglev, 128 slots    rendezvous, bounded  rendezvous")
	fmt.Fprintln(&b, "endpoints  must %   size    most  more   size    most  more   size    most  more   size    most  more")
	for _, n := range []int{2, 3, 5, 7, 10, 20, 31, 63, 100, 255, 600, 1000} {
		fmt.Fprintf(&b, "%9d  %6.2f", n, 100/float64(n))
		column := func(size int, table func(seed uint64, e []Endpoint) []uint16) {
			most := mean(func(seed uint64) float64 { return spread(table(seed, cluster(n)), n) })
			more := mean(func(seed uint64) float64 {
				return innocent(n, min(n, 2), func(e []Endpoint) []uint16 { return table(seed, e) })
			})
			fmt.Fprintf(&b, "  %6d  %+5.1f %5.2f", size, most, more)
		}
		for _, ratio := range []int{1, 4} {
			size := Size(ratio * n)
			builder := &Builder{}
			column(size, func(seed uint64, e []Endpoint) []uint16 {
				builder.seed = seed
				return builder.build(nil, size, e)
			})
		}
		if n <= 31 {
			size := Size(n)
			column(size, func(seed uint64, e []Endpoint) []uint16 { return bounded(seed, size, size/len(e), e) })
			column(size, func(seed uint64, e []Endpoint) []uint16 { return rendezvous(seed, size, e) })
		}
		fmt.Fprintln(&b)
	}
	published(t, "disruption", b.String())
}

// What moves when the size changes with the number of endpoints.
func TestMeasureResize(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "endpoints   size             must %  moved %")
	for _, n := range []int{7, 31, 63, 127} {
		share := mean(func(seed uint64) float64 {
			builder := NewBuilder(seed)
			from, to := cluster(n), cluster(n+1)
			return 100 * float64(moved(builder.Build(nil, from), from, builder.Build(nil, to), to)) / (1 << 16)
		})
		fmt.Fprintf(&b, "%3d → %3d   %4d → %5d     %6.2f  %7.2f\n", n, n+1, Size(n), Size(n+1), 100/float64(n+1), share)
	}
	published(t, "resize", b.String())
}

// What weights come to.
func TestMeasureWeights(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "weights                      size  slots (share)")
	for _, weights := range [][]uint16{{1, 1, 1}, {1, 2, 3}, {1, 10, 100}, {1, 1000}, {100, 100, 50}, {1, 1, 1, 1, 1, 1, 1, 7}} {
		endpoints := cluster(len(weights))
		total := 0
		for i, w := range weights {
			endpoints[i].Weight = w
			total += int(w)
		}
		slots := NewBuilder(1).Build(nil, endpoints)
		fmt.Fprintf(&b, "%-27s  %4d", fmt.Sprint(weights), len(slots))
		for i, c := range counts(slots, len(weights)) {
			share := float64(len(slots)) * float64(weights[i]) / float64(total)
			fmt.Fprintf(&b, "  %d (%.1f)", c, share)
			if math.Abs(float64(c)-share) > 2 {
				t.Errorf("weights %v: endpoint %d has %d slots, share %.1f", weights, i, c, share)
			}
		}
		fmt.Fprintln(&b)
	}
	published(t, "weights", b.String())
}

// depths are the depths of history that rollouts are tried with.
var depths = []int{1, 2, 3, 5, 7}

// rollout replaces n pods, surge at a time, each in three steps: the new one is
// there, it is ready, the old one terminates; grace rounds later that is gone.
// After each step it counts the flows to endpoints that exist, and of them
// those that the table and a history of each depth don't lead to; last the same
// for [History] itself. There is a flow for each pair of a hash and an endpoint
// that the table led it to, before or at any time.
type rollout struct {
	n, surge, grace int
	size            func(endpoints []Endpoint) int
	during          bool // count flows that began during the rollout too

	builder *Builder
	pods    []Endpoint // old and new ones in turn, sorted by key
	exists  []bool     // by pod
	history History
	flows   []hashFlows
	alive   int
	lost    []int
}

// hashFlows is what is known of one hash, in numbers of pods.
type hashFlows struct {
	open []int   // endpoints with a flow
	prev [][]int // histories, by depth
	now  int
}

func (r *rollout) run(seed uint64) {
	const hashes = 1024
	r.builder, r.history = NewBuilder(seed), History{}
	r.pods, r.exists = cluster(2*r.n), make([]bool, 2*r.n)
	r.flows = make([]hashFlows, hashes)
	for i := range r.flows {
		r.flows[i] = hashFlows{prev: make([][]int, len(depths)), now: -1}
	}
	for i := range r.n {
		r.exists[2*i] = true
		r.pods[2*i+1].Weight = 0
	}
	r.step(true)
	for at := 0; at < r.n+r.grace*r.surge; at += r.surge {
		batch := func(first int, f func(i int)) {
			for i := max(first, 0); i < min(first+r.surge, r.n); i++ {
				f(i)
			}
		}
		batch(at, func(i int) { r.exists[2*i+1] = true })
		r.step(r.during)
		batch(at, func(i int) { r.pods[2*i+1].Weight = 1 })
		r.step(r.during)
		batch(at, func(i int) { r.pods[2*i].Weight = 0 })
		batch(at-r.grace*r.surge, func(i int) { r.exists[2*i] = false })
		r.step(r.during)
	}
}

// step makes the next table and counts.
func (r *rollout) step(opens bool) {
	var next Table
	var pods []int // by index
	for i, e := range r.pods {
		if r.exists[i] {
			next.Endpoints = append(next.Endpoints, e)
			pods = append(pods, i)
		}
	}
	next.Slots = r.builder.build(nil, r.size(next.Endpoints), next.Endpoints)
	r.history = r.history.Update(next, 0)
	gone := func(pod int) bool { return !r.exists[pod] }
	for i := range r.flows {
		f, hash := &r.flows[i], uint64(i)<<32/uint64(len(r.flows))<<32
		was := f.now
		f.now = pods[next.Slots[SlotOf(hash, len(next.Slots))]-1]
		f.open = slices.DeleteFunc(f.open, gone)
		if opens && !slices.Contains(f.open, f.now) {
			f.open = append(f.open, f.now)
		}
		for d, depth := range depths {
			p := f.prev[d]
			if was >= 0 && was != f.now {
				p = slices.DeleteFunc(p, func(pod int) bool { return pod == was || pod == f.now })
				p = slices.Insert(p, 0, was)
			}
			p = slices.DeleteFunc(p, gone)
			f.prev[d] = p[:min(len(p), depth)]
		}
		r.count(f, hash, pods)
	}
}

// count counts the flows of one hash.
func (r *rollout) count(f *hashFlows, hash uint64, pods []int) {
	var row Row
	if len(r.history.Rows) > 0 {
		row = r.history.Rows[SlotOf(hash, len(r.history.Rows))]
	}
	for _, pod := range f.open {
		r.alive++
		if pod == f.now {
			continue
		}
		for d := range depths {
			if !slices.Contains(f.prev[d], pod) {
				r.lost[d]++
			}
		}
		if !slices.ContainsFunc(row.Prev[:], func(e uint16) bool { return e > 0 && pods[e-1] == pod }) {
			r.lost[len(depths)]++
		}
	}
}

// Which part of the flows a rollout leaves without a way to their endpoint.
func TestMeasureHistory(t *testing.T) {
	all := func(e []Endpoint) int { return Size(len(e)) }
	ready := func(e []Endpoint) int {
		return Size(len(e) - len(slices.DeleteFunc(slices.Clone(e), func(e Endpoint) bool { return e.Weight > 0 })))
	}
	ample := func(e []Endpoint) int { return Size(4 * len(e)) }
	var b strings.Builder
	fmt.Fprintln(&b, "                                             lost %, depth of history")
	fmt.Fprintln(&b, "pods  surge  grace  flows from  size by           1       2       3       5       7   History")
	for _, tc := range []struct{ n, surge, grace int }{
		{3, 1, 1}, {6, 2, 1}, {7, 1, 1}, {10, 3, 1}, {10, 3, 4}, {10, 1, 10}, {20, 5, 1}, {31, 8, 1}, {31, 8, 4},
	} {
		for _, v := range []struct {
			name   string
			size   func([]Endpoint) int
			during bool
		}{
			{"all", all, false}, {"all", all, true}, {"ready", ready, false}, {"all × 4", ample, false},
		} {
			r := rollout{n: tc.n, surge: tc.surge, grace: tc.grace, size: v.size, during: v.during, lost: make([]int, len(depths)+1)}
			for seed := range uint64(2) {
				r.run(seed)
			}
			from := "before"
			if v.during {
				from = "any time"
			}
			fmt.Fprintf(&b, "%4d  %5d  %5d  %-10s  %-8s", tc.n, tc.surge, tc.grace, from, v.name)
			for i, l := range r.lost {
				fmt.Fprintf(&b, "  %6.2f", 100*float64(l)/float64(r.alive))
				if i == len(depths)-1 {
					fmt.Fprint(&b, "  ")
				}
			}
			fmt.Fprintln(&b)
		}
	}
	published(t, "history", b.String())
}
