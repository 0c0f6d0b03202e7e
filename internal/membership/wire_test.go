package membership

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/election"
	"github.com/fairlead-lb/fairlead/internal/lb"
)

// equateAddrs lets cmp compare messages; no claims and nil claims are the same.
var equateMessages = cmp.Options{
	cmp.AllowUnexported(message{}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

// received is the message that a datagram carries: the inverse of append.
func received(t fatal, b []byte) message {
	d, drop := parse(b)
	if drop != NotDropped {
		t.Fatalf("parse: %s\n%s", drop, hex.Dump(b))
	}
	beat, ok := d.beat()
	if !ok {
		t.Fatalf("the beat is malformed\n%s", hex.Dump(b))
	}
	m := message{
		keyID: d.keyID, authentic: d.authentic, node: string(d.node), instance: d.instance, started: d.started,
		sequence: d.sequence, part: d.part, parts: d.parts, mac: d.mac, beat: beat,
	}
	for h := d.heard; len(h) > 0; h = h[heardLen:] {
		m.heard = append(m.heard, uint32(h[0])<<24|uint32(h[1])<<16|uint32(h[2])<<8|uint32(h[3]))
	}
	return m
}

type fatal interface{ Fatalf(string, ...any) }

// The generators of what a sender may say.
var (
	genName = rapid.StringMatching(`[!-~]{1,253}`)
	genAddr = rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "v4") {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")))
		}
		a := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "addr")))
		return a.Unmap()
	})
	genClaim = rapid.Custom(func(t *rapid.T) election.Claim {
		return election.Claim{Addr: genAddr.Draw(t, "addr"), Epoch: rapid.Uint64().Draw(t, "epoch")}
	})
	genHandover = rapid.Custom(func(t *rapid.T) election.Handover {
		return election.Handover{Addr: genAddr.Draw(t, "addr"), Epoch: rapid.Uint64().Draw(t, "epoch"), To: genName.Draw(t, "to")}
	})
	genBeat = rapid.Custom(func(t *rapid.T) election.Beat {
		return election.Beat{
			Claims:    rapid.SliceOfN(genClaim, 0, 60).Draw(t, "claims"),
			Handovers: rapid.SliceOfN(genHandover, 0, 6).Draw(t, "handovers"),
			Refusal:   rapid.SampledFrom(wireRefusals[:]).Draw(t, "refusal"),
		}
	})
	genMessage = rapid.Custom(func(t *rapid.T) message {
		m := message{
			node: genName.Draw(t, "node"), instance: rapid.Uint64().Draw(t, "instance"),
			started: rapid.Uint64().Draw(t, "started"), sequence: rapid.Uint64().Draw(t, "sequence"),
			parts: rapid.Uint16Range(1, maxParts).Draw(t, "parts"),
			mac:   lb.MAC(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "mac")),
			heard: rapid.SliceOfN(rapid.Uint32(), 0, 40).Draw(t, "heard"),
			beat:  genBeat.Draw(t, "beat"),
		}
		slices.SortFunc(m.beat.Claims, compareEpochs) // as split leaves them
		m.part = rapid.Uint16Range(0, m.parts-1).Draw(t, "part")
		return m
	})
)

func TestEncodeDecode(t *testing.T) {
	s := newSigner([]byte("a key for tests"))
	rapid.Check(t, func(t *rapid.T) {
		m := genMessage.Draw(t, "message")
		if rapid.Bool().Draw(t, "authentic") {
			m.authentic, m.keyID = true, s.id
		}
		b := m.append(nil)
		if m.authentic {
			b = s.sum(b, b)
		}
		if diff := cmp.Diff(m, received(t, b), equateMessages); diff != "" {
			t.Fatalf("decoded message differs (-sent +received):\n%s", diff)
		}
	})
}

// The bytes of one heartbeat, written out: a change of the format must not go
// unnoticed.
func TestWireFormat(t *testing.T) {
	m := message{
		node: "n1", instance: 0x1111111122222222, started: 3, sequence: 4, part: 0, parts: 1,
		mac: lb.MAC{2, 0, 0, 0, 0, 1}, heard: []uint32{0xdeadbeef},
		beat: election.Beat{
			Refusal:   lb.Draining,
			Claims:    []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 5}},
			Handovers: []election.Handover{{Addr: netip.MustParseAddr("2001:db8::1"), Epoch: 6, To: "n2"}},
		},
	}
	want := strings.Join(strings.Fields(`
		464c4842 01 00 00000000
		1111111122222222 0000000000000003 0000000000000004
		0000 0001 020000000001 06 02 0001 0001 0001
		6e31 deadbeef
		0000000000000005 0001 0000 c0000201
		06 20010db8000000000000000000000001 0000000000000006 02 6e32`), "")
	if got := hex.EncodeToString(m.append(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEveryRefusalHasANumber(t *testing.T) {
	exists := func(r lb.Refusal) (ok bool) {
		defer func() { ok = recover() == nil }()
		return r.String() != ""
	}
	for r := lb.Eligible; exists(r); r++ {
		if got := wireRefusals[refusalToWire(r)]; got != r {
			t.Errorf("%s comes back as %s", r, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := func() []byte {
		m := message{node: "n1", instance: 1, parts: 1, beat: election.Beat{
			Claims:    []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1")}},
			Handovers: []election.Handover{{Addr: netip.MustParseAddr("192.0.2.1"), To: "n2"}},
		}}
		return m.append(nil)
	}
	set := func(offset int, v ...byte) []byte {
		b := good()
		copy(b[offset:], v)
		return b
	}
	claim := headerLen + len("n1")
	one := good()[claim : claim+groupLen+4] // the group of one claim
	for _, c := range []struct {
		name string
		b    []byte
		want Drop
	}{
		{"nothing", nil, Malformed},
		{"another protocol", set(0, 'X'), Malformed},
		{"a newer version, short", []byte("FLHB\x02"), Version},
		{"header cut", good()[:headerLen-1], Malformed},
		{"unknown flag", set(offFlags, 2), Malformed},
		{"key id without authentication", set(offKeyID, 1), Malformed},
		{"authenticated and too short for a code", set(offFlags, 1)[:headerLen+tagLen-1], Malformed},
		{"part beyond parts", set(offPart, 0, 1), Malformed},
		{"no parts", set(offParts, 0, 0), Malformed},
		{"too many parts", set(offParts, 0xff, 0xff), Malformed},
		{"unknown refusal", set(offRefusal, 200), Malformed},
		{"no name", set(offNameLen, 0), Malformed},
		{"name too long", set(offNameLen, 254), Malformed},
		{"name with a line break", set(headerLen, '\n'), Malformed},
		{"more heard than there are bytes", set(offHeardCount, 0xff, 0xff), Malformed},
		{"more claims than there are bytes", set(offGroupCount, 0xff, 0xff), Malformed},
		{"more handovers than there are bytes", set(offHandoverCount, 0, 9), Malformed},
		{"fewer claims than there are bytes", set(offGroupCount, 0, 0), Malformed},
		{"a group without claims", set(claim, make([]byte, groupLen)...), Malformed},
		{"more addresses in a group than there are bytes", set(claim+8, 0xff, 0xff), Malformed},
		{"two groups of one epoch", slices.Concat(set(offGroupCount, 0, 2, 0, 0)[:claim], one, one), Malformed},
		{"handover of an unknown family", set(claim+len(one), 5), Malformed},
		{"target cut", good()[:len(good())-1], Malformed},
		{"target too long", set(len(good())-3, 3), Malformed},
		{"target without name", append(good()[:len(good())-3], 0), Malformed},
		{"trailing byte", append(good(), 0), Malformed},
		{"an IPv4 address spelled as IPv6", slices.Concat(set(offHandoverCount, 0, 0)[:claim], make([]byte, 8), []byte{0, 0, 0, 1}, make([]byte, 10), []byte{0xff, 0xff, 192, 0, 2, 1}), Malformed},
	} {
		d, got := parse(c.b)
		if got == NotDropped {
			if _, ok := d.beat(); !ok {
				got = Malformed
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if d, got := parse(good()); got != NotDropped || !bytes.Equal(d.node, []byte("n1")) {
		t.Errorf("the good one: %s", got)
	}
}

func TestDropsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for d := range Drops {
		s := Drop(d).String()
		if s == "" || seen[s] || Drop(d).meaning() == "" {
			t.Errorf("drop %d is called %q", d, s)
		}
		seen[s] = true
	}
}

// Whatever arrives is refused or can be said again in the same bytes.
func FuzzParse(f *testing.F) {
	s := newSigner([]byte("a key for tests"))
	plain := message{node: "n1", instance: 1, started: 2, sequence: 3, parts: 1}
	f.Add(plain.append(nil))
	signed := message{
		authentic: true, keyID: s.id, node: "n1", instance: 1, started: 2, sequence: 3, part: 1, parts: 2, heard: []uint32{4},
		beat: election.Beat{
			Claims:    []election.Claim{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 5}, {Addr: netip.MustParseAddr("2001:db8::1"), Epoch: 6}},
			Handovers: []election.Handover{{Addr: netip.MustParseAddr("192.0.2.1"), Epoch: 7, To: "n2"}},
			Refusal:   lb.Draining,
		},
	}
	b := signed.append(nil)
	f.Add(s.sum(b, b))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, drop := parse(b)
		newVerifier([]byte("a key for tests")).check(&d)
		if drop != NotDropped {
			return
		}
		if _, ok := d.beat(); !ok {
			return
		}
		m := received(t, b)
		if again := m.append(nil); !bytes.Equal(again, d.signed) {
			t.Fatalf("received\n%sand said again\n%s", hex.Dump(d.signed), hex.Dump(again))
		}
	})
}
