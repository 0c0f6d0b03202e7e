package announce

import (
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"github.com/google/go-cmp/cmp"
)

func TestHearFieldFrames(t *testing.T) {
	now := time.Now()
	for _, tc := range fieldFrames() {
		t.Run(tc.name, func(t *testing.T) {
			b := unhex(t, tc.hex)
			s := testSegment(testLink(vip4, vip6), now)
			family := ARP
			if b[12] == 0x86 {
				family = NDP
			}
			want := map[netip.Addr]Interest{vip4: Questions | Claims}
			if family == NDP {
				want = map[netip.Addr]Interest{vip6: Questions | Claims}
			}
			if why := sieve(family, b, want); why != tc.kernel && tc.kernel != OtherHost {
				t.Errorf("the filter says %s, want %s", why, tc.kernel)
			}

			var v verdict
			f, why := packet.Parse(b)
			if why != packet.Accepted {
				v.ignored = refused(why)
			} else {
				v = s.hear(f, now)
			}
			if v.ignored != tc.ignored {
				t.Errorf("ignored: %s, want %s", v.ignored, tc.ignored)
			}
			answer := ""
			if v.kind != SentNothing {
				answer = v.frame.String()
			}
			if d := cmp.Diff(tc.answer, answer); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
		})
	}
}

func TestHear(t *testing.T) {
	unspecified6 := netip.IPv6Unspecified()
	nobody := netip.IPv4Unspecified()
	tagged := arp(packet.ARPRequest, clientMAC, client4, vip4)
	tagged.Eth.Tagged, tagged.Eth.Tag = true, 7
	priority := tagged
	priority.Eth.Tag = 5 << 13

	for _, tc := range []struct {
		name    string
		state   State // of both addresses
		frame   packet.Frame
		ignored Ignored
		kind    Sent
		after   State // of the address that the frame is about
	}{
		{"VLAN of nobody", Announcing, tagged, VLANTagged, SentNothing, Announcing},
		{"priority tag", Announcing, priority, Heeded, SentReply, Announcing},

		{"question while probing", Probing, arp(packet.ARPRequest, clientMAC, client4, vip4), NotYet, SentNothing, Probing},
		{"reply while probing", Probing, arp(packet.ARPReply, strangerMAC, vip4, nobody), StrangerClaim, SentNothing, Conflict},
		{"own reply while probing", Probing, arp(packet.ARPReply, ownMAC, vip4, nobody), Reflected, SentNothing, Probing},
		{"member's reply while probing", Probing, arp(packet.ARPReply, memberMAC, vip4, nobody), MemberClaim, SentNothing, Probing},
		{"probe while probing", Probing, arp(packet.ARPRequest, strangerMAC, nobody, vip4), StrangerClaim, SentNothing, Conflict},
		{"member's probe while probing", Probing, arp(packet.ARPRequest, memberMAC, nobody, vip4), NotYet, SentNothing, Probing},
		{"own probe while probing", Probing, arp(packet.ARPRequest, ownMAC, nobody, vip4), Reflected, SentNothing, Probing},
		{"question in conflict", Conflict, arp(packet.ARPRequest, clientMAC, client4, vip4), NotYet, SentNothing, Conflict},
		{"claim in conflict", Conflict, arp(packet.ARPRequest, strangerMAC, vip4, vip4), StrangerClaim, SentNothing, Conflict},
		{"member's probe", Announcing, arp(packet.ARPRequest, memberMAC, nobody, vip4), Heeded, SentReply, Announcing},
		{"stranger speaks as the address", Announcing, arp(packet.ARPRequest, strangerMAC, vip4, client4), StrangerClaim, SentDefence, Contested},
		{"member speaks as one address and asks for another", Announcing, arp(packet.ARPRequest, memberMAC, other4, vip4), Heeded, SentReply, Announcing},
		{"question in a contest", Contested, arp(packet.ARPRequest, clientMAC, client4, vip4), Heeded, SentReply, Contested},

		{"advertisement of a stranger", Announcing, packet.Unsolicited(strangerMAC, vip6), StrangerClaim, SentDefence, Contested},
		{"advertisement while probing", Probing, packet.Unsolicited(strangerMAC, vip6), StrangerClaim, SentNothing, Conflict},
		{"advertisement of a member", Probing, packet.Unsolicited(memberMAC, vip6), MemberClaim, SentNothing, Probing},
		{"advertisement comes back", Announcing, packet.Unsolicited(ownMAC, vip6), Reflected, SentNothing, Announcing},
		{"detection comes back", Probing, packet.Detect(ownMAC, vip6), Reflected, SentNothing, Probing},
		{"detection while probing", Probing, packet.Detect(strangerMAC, vip6), StrangerClaim, SentNothing, Conflict},
		{"detection by a stranger", Announcing, packet.Detect(strangerMAC, vip6), Heeded, SentGroupReply, Contested},
		{"detection by a member", Announcing, solicit(memberMAC, unspecified6, vip6), Heeded, SentGroupReply, Announcing},
		{"stranger solicits as the address", Announcing, solicit(strangerMAC, vip6, client6), StrangerClaim, SentDefence, Contested},
		{"advertisement for a client", Announcing, packet.Unsolicited(clientMAC, client6), NotRequest, SentNothing, Announcing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Now()
			s := testSegment(testLink(vip4, other4, vip6), now)
			for _, e := range s.entries {
				e.state, e.due = tc.state, now
			}
			v := s.hear(tc.frame, now)
			if v.ignored != tc.ignored || v.kind != tc.kind {
				t.Errorf("ignored %s, sent %s; want %s, %s", v.ignored, v.kind, tc.ignored, tc.kind)
			}
			about := vip4
			if tc.frame.Eth.Type == packet.TypeIPv6 {
				about = vip6
			}
			e := s.entry(t, about)
			if e.state != tc.after {
				t.Errorf("then %s, want %s", e.state, tc.after)
			}
			wantStranger := lb.MAC{}
			if tc.after != tc.state {
				wantStranger = strangerMAC
			}
			if e.stranger != wantStranger {
				t.Errorf("stranger %s, want %s", e.stranger, wantStranger)
			}
		})
	}
}

// TestStrangerTurnsOutToBeAMember: a node may speak before its heartbeat has
// told who it is.
func TestStrangerTurnsOutToBeAMember(t *testing.T) {
	now := time.Now()
	l := testLink(vip4, other4)
	l.Entries[0].Probe = true
	s := testSegment(l, now)
	s.hear(packet.GratuitousRequest(strangerMAC, vip4), now)
	s.hear(packet.GratuitousRequest(strangerMAC, other4), now)
	if a, b := s.entry(t, vip4).state, s.entry(t, other4).state; a != Conflict || b != Contested {
		t.Fatalf("%s and %s", a, b)
	}
	l.Members = append(l.Members, strangerMAC)
	s.apply(l, now)
	if a, b := s.entry(t, vip4).state, s.entry(t, other4).state; a != Probing || b != Announcing {
		t.Errorf("then %s and %s", a, b)
	}
}

func TestGroupRepliesAreLimited(t *testing.T) {
	now := time.Now()
	s := testSegment(testLink(vip6), now)
	sent := 0
	for range 5000 {
		if v := s.hear(packet.Detect(strangerMAC, vip6), now); v.kind != SentNothing {
			sent++
		} else if v.ignored != RateLimited {
			t.Fatalf("ignored %s", v.ignored)
		}
	}
	if sent != 1000 {
		t.Errorf("%d answers to all nodes in one instant, want the burst of 1000", sent)
	}
}

func TestLabelsAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for i := range IgnoredReasons {
		name := Ignored(i).String()
		if name == "" || seen[name] {
			t.Errorf("reason %d has the name %q", i, name)
		}
		seen[name] = true
	}
	seen = make(map[string]bool)
	for k := range numSent {
		if k.String() == "" || seen[k.String()] {
			t.Errorf("kind %d has the name %q", k, k)
		}
		seen[k.String()] = true
	}
}
