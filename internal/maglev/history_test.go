package maglev

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// key is the endpoint with a letter for its name.
func key(letter rune) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(letter)}), 80)
}

// letters is a table with one slot per letter of slots, "-" for an unset one;
// its endpoints are those of slots and of also.
func letters(slots, also string) Table {
	var t Table
	names := []rune(strings.ReplaceAll(slots+also, "-", ""))
	slices.Sort(names)
	names = slices.Compact(names)
	for _, n := range names {
		t.Endpoints = append(t.Endpoints, Endpoint{Key: key(n), Weight: 1})
	}
	for _, s := range slots {
		t.Slots = append(t.Slots, uint16(slices.Index(names, s)+1))
	}
	return t
}

// text prints the rows as letters with stamps: "ab@1 -@0".
func (h History) text() string {
	var words []string
	for _, r := range h.Rows {
		w := ""
		for _, e := range r.Prev {
			if e > 0 {
				w += string(rune(h.Table.Endpoints[e-1].Key.Addr().As4()[3]))
			}
		}
		if w == "" {
			w = "-"
		}
		words = append(words, fmt.Sprintf("%s@%d", w, r.Stamp))
	}
	return strings.Join(words, " ")
}

func TestHistory(t *testing.T) {
	type step struct{ slots, also, rows string }
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"nothing changes", []step{{"ab", "", ""}, {"ab", "", ""}, {"ab", "c", ""}}},
		{"newest first", []step{
			{"aa", "", ""},
			{"ba", "", "a@1 -@0"},
			{"ca", "b", "ba@2 -@0"},
			{"da", "bc", "cba@3 -@0"},
			{"da", "bc", "cba@3 -@0"},
		}},
		{"there and back", []step{
			{"ab", "", ""}, {"bb", "a", "a@1 -@0"}, {"ab", "", "b@2 -@0"}, {"bb", "a", "a@3 -@0"},
		}},
		{"gone is gone", []step{
			{"ab", "", ""},
			{"cb", "a", "a@1 -@0"},
			{"db", "ac", "ca@2 -@0"},
			{"db", "a", "a@2 -@0"},
			{"db", "", ""},
			{"db", "a", ""},
		}},
		{"removed at once", []step{{"ab", "", ""}, {"bb", "", ""}}},
		{"indexes shift", []step{
			{"mn", "", ""}, {"nn", "m", "m@1 -@0"}, {"nn", "abcm", "m@1 -@0"}, {"cn", "m", "nm@3 -@0"},
		}},
		{"no table", []step{{"ab", "", ""}, {"", "ab", "a@1 b@1"}, {"cb", "a", "a@1 -@1"}}},
		{"unset slots", []step{{"-b", "", ""}, {"a-", "b", "-@0 b@1"}}},
		{"grows", []step{
			{"ab", "", ""}, {"ba", "", "a@1 b@1"},
			// abbbba: row 2 is the last of the left half, row 3 the first of the right.
			{"abbbba", "", "b@2 a@1 a@1 a@2 a@2 b@1"},
		}},
		{"shrinks", []step{
			{"abcd", "", ""}, {"ee", "abcd", "a@1 b@1 c@1 d@1"}, {"fe", "abcd", "ea@2 eb@2 c@1 d@1"},
		}},
		{"row across an edge", []step{
			// The middle one of three rows belongs to both slots.
			{"abc", "", ""}, {"de", "abc", "a@1 b@1 c@1"}, {"fe", "abcd", "da@2 db@2 c@1"}, {"fb", "acde", "da@2 edb@3 ec@3"},
		}},
		{"forgotten, then small again", []step{
			{"abab", "", ""}, {"bb", "a", "a@1 -@0 a@1 -@0"}, {"cc", "", ""}, {"dd", "c", "c@3 c@3"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h History
			for i, s := range tc.steps {
				before := fmt.Sprint(h)
				next := h.Update(letters(s.slots, s.also), uint16(i))
				if fmt.Sprint(h) != before {
					t.Fatalf("step %d changed its input", i)
				}
				if h = next; h.text() != s.rows {
					t.Fatalf("step %d, %s: %q, want %q", i, s.slots, h.text(), s.rows)
				}
			}
		})
	}
}

// A row has room for so many, and then the oldest goes.
func TestHistoryDepth(t *testing.T) {
	names := "abcdefghijklmnop"[:Depth+2]
	var h History
	for i := range names {
		h = h.Update(letters(names[i:i+1], names), 0)
	}
	want := []rune(names[1 : Depth+1])
	slices.Reverse(want)
	if got := h.text(); got != string(want)+"@0" {
		t.Errorf("%q, want %q", got, string(want))
	}
}

// slowUpdate is [History.Update] at every point where anything begins, with
// keys for indexes.
func slowUpdate(h History, next Table, stamp uint16) History {
	size := max(len(h.Rows), len(h.Table.Slots), len(next.Slots))
	var points []uint64
	for _, n := range []int{len(h.Rows), len(h.Table.Slots), len(next.Slots), size} {
		for i := range n {
			points = append(points, edge(i, n))
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)

	name := func(t Table, index uint16) (netip.AddrPort, bool) {
		if index == 0 || int(index) > len(t.Endpoints) {
			return netip.AddrPort{}, false
		}
		k := t.Endpoints[index-1].Key
		exists := slices.ContainsFunc(next.Endpoints, func(e Endpoint) bool { return e.Key == k })
		return k, exists
	}
	owner := func(t Table, x uint64) (netip.AddrPort, bool) {
		if len(t.Slots) == 0 {
			return netip.AddrPort{}, false
		}
		return name(t, t.Slots[SlotOf(x<<32, len(t.Slots))])
	}
	lists := make([][]netip.AddrPort, size)
	stamps := make([]uint16, size)
	for i := range size {
		var mine []uint64
		for _, x := range points {
			if SlotOf(x<<32, size) == i {
				mine = append(mine, x)
			}
		}
		if len(h.Rows) > 0 {
			stamps[i] = h.Rows[SlotOf(mine[0]<<32, len(h.Rows))].Stamp
		}
		owners := map[netip.AddrPort]bool{}
		for _, x := range mine {
			was, existed := owner(h.Table, x)
			is, _ := owner(next, x)
			owners[is] = true
			if existed && was != is {
				lists[i] = append(lists[i], was)
				stamps[i] = stamp
			}
		}
		for depth := range Depth {
			for _, x := range mine {
				if len(h.Rows) == 0 {
					continue
				}
				k, exists := name(h.Table, h.Rows[SlotOf(x<<32, len(h.Rows))].Prev[depth])
				if exists && !(len(owners) == 1 && owners[k]) {
					lists[i] = append(lists[i], k)
				}
			}
		}
	}
	out := History{Table: next, Rows: make([]Row, size)}
	empty := true
	for i, list := range lists {
		n := 0
		for j, k := range list {
			if n < Depth && !slices.Contains(list[:j], k) {
				out.Rows[i].Prev[n] = uint16(1 + slices.IndexFunc(next.Endpoints, func(e Endpoint) bool { return e.Key == k }))
				n++
				empty = false
			}
		}
		out.Rows[i].Stamp = stamps[i]
	}
	if empty {
		out.Rows = nil
	}
	return out
}

// drawTable draws a table over some of eight endpoints.
func drawTable(t *rapid.T) Table {
	slots := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh-")), 0, 12, -1).Draw(t, "slots")
	also := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh")), 0, 8, -1).Draw(t, "also")
	return letters(slots, also)
}

func TestHistoryTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fast, slow History
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			next := drawTable(t)
			fast, slow = fast.Update(next, uint16(i+1)), slowUpdate(slow, next, uint16(i+1))
			if d := cmp.Diff(slow, fast, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
				t.Fatalf("step %d (-slow +fast):\n%s", i, d)
			}
		}
	})
}

// As long as the size stays, a row is exactly the latest owners of its slot
// that exist.
func TestHistoryIsTheLatestOwners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(t, "size")
		var h History
		owners := make([][]netip.AddrPort, size)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			slots := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh")), size, size, -1).Draw(t, "slots")
			also := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh")), 0, 8, -1).Draw(t, "also")
			h = h.Update(letters(slots, also), 0)
			for i := range owners {
				now := h.Table.Endpoints[h.Table.Slots[i]-1].Key
				owners[i] = slices.DeleteFunc(owners[i], func(k netip.AddrPort) bool {
					return k == now || !slices.ContainsFunc(h.Table.Endpoints, func(e Endpoint) bool { return e.Key == k })
				})
				owners[i] = slices.Insert(owners[i], 0, now)
				owners[i] = owners[i][:min(len(owners[i]), 1+Depth)]
				var row Row
				if len(h.Rows) > 0 {
					row = h.Rows[i]
				}
				var got []netip.AddrPort
				for _, e := range row.Prev {
					if e > 0 {
						got = append(got, h.Table.Endpoints[e-1].Key)
					}
				}
				if want := owners[i][1:]; !slices.Equal(got, want) {
					t.Fatalf("slot %d: %v, want %v", i, got, want)
				}
			}
		}
	})
}

// What a restarted agent reads back from its maps may be anything: no input
// makes an update panic or point outside the endpoints, and it is repaired by
// going through one.
func FuzzHistoryUpdate(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 3, 0}, []byte{1, 0, 2, 0, 3, 0, 9, 0}, uint8(3), uint8(5))
	f.Add([]byte{255, 255, 0, 0}, []byte{0, 0, 255, 255, 7, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0}, uint8(1), uint8(0))
	f.Add([]byte{}, []byte{2, 0, 2, 0, 2, 0, 1, 0}, uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, slots, rows []byte, before, after uint8) {
		u16 := func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }
		h := History{Table: Table{Endpoints: cluster(int(before))}}
		for b := range slices.Chunk(slots, 2) {
			if len(b) == 2 {
				h.Table.Slots = append(h.Table.Slots, u16(b))
			}
		}
		for b := range slices.Chunk(rows, 8) {
			if len(b) == 8 {
				h.Rows = append(h.Rows, Row{Prev: [Depth]uint16{u16(b), u16(b[2:]), u16(b[4:])}, Stamp: u16(b[6:])})
			}
		}
		next := Table{Endpoints: cluster(int(after))}
		next.Slots = NewBuilder(1).Build(nil, next.Endpoints)
		got := h.Update(next, 7)
		for i, r := range got.Rows {
			for j, e := range r.Prev {
				if int(e) > int(after) || e != 0 && slices.Contains(r.Prev[:j], e) || e != 0 && j > 0 && r.Prev[j-1] == 0 {
					t.Fatalf("row %d is %v with %d endpoints", i, r, after)
				}
			}
		}
		if again := got.Update(next, 8); !slices.Equal(got.Rows, again.Rows) {
			t.Fatalf("a second update with the same table changes %v to %v", got.Rows, again.Rows)
		}
	})
}

func BenchmarkHistoryUpdate(b *testing.B) {
	builder := NewBuilder(1)
	for _, n := range []int{10, 600} {
		b.Run(fmt.Sprintf("%d_endpoints", n), func(b *testing.B) {
			full, less := cluster(n), cluster(n)
			less[n/2].Weight = 0
			tables := []Table{{full, builder.Build(nil, full)}, {less, builder.Build(nil, less)}}
			var h History
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				h = h.Update(tables[i%2], 0)
				i++
			}
		})
	}
}
