package announce

import (
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"pgregory.net/rapid"
)

// TestSegmentRules checks, under random events, what must hold whatever
// happens. The rules are written down once more here, without the schedule.
func TestSegmentRules(t *testing.T) {
	start := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		now := start
		l := testLink(vip4, vip6)
		for i := range l.Entries {
			l.Entries[i].Probe = rapid.Bool().Draw(t, "probe")
		}
		s := testSegment(l, now)

		lastAnnounced := make(map[netip.Addr]time.Time)
		lastDefended := make(map[netip.Addr]time.Time)
		anew := make(map[netip.Addr]bool) // a burst may start at once
		state := func(a netip.Addr) State { return s.byAddr[a].state }

		check := func(f packet.Frame, kind Sent) {
			a := f.ARP.TargetIP
			if kind == SentReply {
				a = f.ARP.SenderIP
			}
			if f.Eth.Type == packet.TypeIPv6 {
				a = f.NDP.Target
			}
			if f.Eth.Src != s.link.MAC {
				t.Fatalf("sent from %s", f.Eth.Src)
			}
			switch st := state(a); kind {
			case SentProbe:
				if st != Probing && st != Conflict {
					t.Fatalf("probes %s while %s", a, st)
				}
			case SentReply, SentGroupReply:
				if st != Announcing && st != Contested {
					t.Fatalf("answers for %s while %s", a, st)
				}
			case SentDefence:
				if st != Contested {
					t.Fatalf("defends %s while %s", a, st)
				}
				if last, ok := lastDefended[a]; ok && now.Sub(last) < 10*time.Second {
					t.Fatalf("defends %s again after %s", a, now.Sub(last))
				}
				lastDefended[a] = now
			case SentRequestForm, SentAdvertisement:
				if st != Announcing {
					t.Fatalf("announces %s while %s", a, st)
				}
				if last, ok := lastAnnounced[a]; ok && !anew[a] && now.Sub(last) < 1100*time.Millisecond {
					t.Fatalf("announces %s again after %s", a, now.Sub(last))
				}
				lastAnnounced[a], anew[a] = now, false
			}
		}

		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond)
			about := rapid.SampledFrom([]netip.Addr{vip4, vip6}).Draw(t, "address")
			by := rapid.SampledFrom([]lb.MAC{ownMAC, memberMAC, strangerMAC}).Draw(t, "by")
			before := state(about)
			frame := func(f packet.Frame) {
				v := s.hear(f, now)
				if v.kind != SentNothing {
					check(v.frame, v.kind)
				}
				if by != strangerMAC && state(about) != before {
					t.Fatalf("a frame of %s made %s %s", by, before, state(about))
				}
			}
			switch rapid.SampledFrom([]string{"ask", "claim", "want", "generation", "mac", "link", "lapse", "time"}).Draw(t, "event") {
			case "ask":
				if about.Is4() {
					frame(arp(packet.ARPRequest, by, client4, about))
				} else {
					frame(solicit(by, client6, about))
				}
			case "claim":
				if about.Is4() {
					frame(arp(packet.ARPReply, by, about, client4))
				} else {
					frame(packet.Unsolicited(by, about))
				}
			case "want":
				if about.Is4() {
					frame(packet.Probe(by, about))
				} else {
					frame(packet.Detect(by, about))
				}
			case "generation":
				for i := range l.Entries {
					l.Entries[i].Generation++
				}
				l.Entries = append([]Entry(nil), l.Entries...)
				s.apply(l, now)
				anew[vip4], anew[vip6] = true, true
			case "mac":
				l.MAC[4]++
				l.Members = append(l.Members, l.MAC)
				s.apply(l, now)
				anew[vip4], anew[vip6] = true, true
			case "link":
				s.setReady(FamilyOf(about), false, now)
				s.setReady(FamilyOf(about), true, now)
				anew[about] = true
			case "lapse":
				s.resume(now)
			}
			for _, a := range []netip.Addr{vip4, vip6} {
				was := state(a)
				if next := s.tick(now, func(f packet.Frame, kind Sent) bool { check(f, kind); return true }); next.IsZero() {
					t.Fatal("nothing will ever be sent again")
				}
				if was != Announcing {
					anew[a] = true
				}
			}
		}
	})
}
