package membership

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-lb/fairlead/internal/election"
)

// Joined, the parts are what was split, and each fits into a datagram.
func TestSplitJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := genName.Draw(t, "node")
		beat := genBeat.Draw(t, "beat")
		heard := rapid.SliceOfN(rapid.Uint32(), 0, 400).Draw(t, "heard")
		l := Link{Addr: genAddr.Draw(t, "link"), MTU: rapid.SampledFrom([]int{0, 68, 576, 1280, 1500, 9000, 65536}).Draw(t, "mtu")}

		parts := split(nil, l.payload()-headerLen-len(name)-tagLen, heard, beat)
		joined := message{beat: election.Beat{Refusal: beat.Refusal}}
		for n, p := range parts {
			m := message{
				authentic: true, node: name, part: uint16(n), parts: uint16(len(parts)), heard: p.heard,
				beat: election.Beat{Refusal: beat.Refusal, Claims: p.claims, Handovers: p.handovers},
			}
			b := append(m.append(nil), make([]byte, tagLen)...)
			if len(b) > l.payload() {
				t.Fatalf("part %d has %d bytes, the payload is %d", n, len(b), l.payload())
			}
			r := received(t, b)
			joined.heard = append(joined.heard, r.heard...)
			joined.beat.Claims = append(joined.beat.Claims, r.beat.Claims...)
			joined.beat.Handovers = append(joined.beat.Handovers, r.beat.Handovers...)
			if n < len(parts)-1 && len(p.claims)+len(p.handovers)+len(p.heard) == 0 {
				t.Fatalf("part %d of %d is empty", n, len(parts))
			}
		}
		for n := 1; n < len(parts); n++ {
			byAddr := func(a, b election.Claim) int { return a.Addr.Compare(b.Addr) }
			before, after := parts[n-1].claims, parts[n].claims
			if len(before) > 0 && len(after) > 0 && byAddr(slices.MaxFunc(before, byAddr), slices.MinFunc(after, byAddr)) > 0 {
				t.Fatalf("part %d has addresses that belong before those of part %d", n, n-1)
			}
		}
		slices.SortFunc(beat.Claims, compareEpochs)
		slices.SortFunc(joined.beat.Claims, compareEpochs)
		if diff := cmp.Diff(message{heard: heard, beat: beat}, joined, equateMessages); diff != "" {
			t.Fatalf("joined parts differ (-whole +joined):\n%s", diff)
		}
	})
}

func TestPayload(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, c := range []struct {
		l    Link
		want int
	}{
		{Link{Addr: v4, MTU: 1500}, 1472},
		{Link{Addr: v6, MTU: 1500}, 1452},
		{Link{Addr: v4, MTU: 9000}, 8972},
		{Link{Addr: v4, MTU: 0}, minPayload},
		{Link{Addr: v6, MTU: 65536}, maxPayload},
	} {
		if got := c.l.payload(); got != c.want {
			t.Errorf("%v: %d, want %d", c.l, got, c.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	var got election.Beat
	canonical(&got, election.Beat{
		Claims: []election.Claim{
			{Addr: netip.MustParseAddr("::ffff:192.0.2.1"), Epoch: 1},
			{Epoch: 2},
			{Addr: netip.MustParseAddr("fe80::1%eth0"), Epoch: 3},
		},
		Handovers: []election.Handover{
			{Addr: netip.MustParseAddr("192.0.2.1"), To: ""},
			{Addr: netip.MustParseAddr("192.0.2.1"), To: "n2"},
		},
	})
	const want = "{[{192.0.2.1 1} {fe80::1 3}] [{192.0.2.1 0 n2}] eligible}"
	if s := fmt.Sprint(got); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}
