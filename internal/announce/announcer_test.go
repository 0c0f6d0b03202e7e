package announce

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/metrics"
	"github.com/fairlead-lb/fairlead/internal/packet"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// bench is an announcer on fake sockets in virtual time.
type bench struct {
	*Announcer
	t       *testing.T
	sockets *FakeSockets
	set     *metrics.Set
	log     *syncBuffer
	start   time.Time
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// onBench runs f with an announcer whose fence is open.
func onBench(t *testing.T, opts Options, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, sockets: NewFakeSockets(), set: metrics.NewSet(), log: &syncBuffer{}, start: time.Now()}
		opts.Sockets = b.sockets
		b.Announcer = New(slog.New(slog.NewTextHandler(b.log, nil)), b.set, opts)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx) }()
		b.Extend(time.Now().Add(time.Hour))
		f(b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if s := b.sockets.String(); s != "" {
			t.Errorf("sockets left open:\n%s", s)
		}
	})
}

// announce sets links and lets everything settle.
func (b *bench) announce(links ...Link) {
	b.t.Helper()
	if err := b.Set(Desired{Links: links}); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

// after lets time pass.
func (b *bench) after(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func (b *bench) deliver(f packet.Frame) {
	b.sockets.Deliver("eth0", f.Bytes())
	synctest.Wait()
}

// sent prints the frames sent since the last call: when, and what in short.
func (b *bench) sent() string {
	var s strings.Builder
	for _, f := range b.sockets.Sent() {
		lines := strings.Split(f.Frame.String(), "\n")
		fmt.Fprintf(&s, "%v %s\n", f.At.Sub(b.start), lines[len(lines)-1])
	}
	return s.String()
}

func (b *bench) expectSent(want string) {
	b.t.Helper()
	if d := cmp.Diff(strings.TrimLeft(want, "\n"), b.sent()); d != "" {
		b.t.Errorf("sent (-want +got):\n%s", d)
	}
}

func (b *bench) expectStates(want ...State) {
	b.t.Helper()
	var got []State
	for _, s := range b.Status() {
		got = append(got, s.State)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("states %v, want %v", got, want)
	}
}

func (b *bench) expectCount(name string, want uint64) {
	b.t.Helper()
	if got := b.set.Map()[name]; got != want {
		b.t.Errorf("%s is %d, want %d", name, got, want)
	}
}

const (
	reqForm = " arp request who-has 10.77.0.200 tell 10.77.0.200 (02:00:00:00:00:11)\n"
	repForm = " arp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.77.0.200 (02:00:00:00:00:11)\n"
	naForm  = " ndp advertisement 2001:db8:77::200 flags O link 02:00:00:00:00:11\n"
	probe4  = " arp probe 10.77.0.200 by 02:00:00:00:00:11\n"
	probe6  = " ndp solicitation who-has 2001:db8:77::200\n"
)

func TestTakeoverBurstThenRefresh(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.announce(testLink(vip4))
		b.after(50 * time.Second)
		b.expectSent("0s" + reqForm + "0s" + repForm +
			"1.1s" + reqForm + "1.1s" + repForm +
			"2.2s" + reqForm + "2.2s" + repForm +
			"3.3s" + reqForm + "3.3s" + repForm +
			"4.4s" + reqForm + "4.4s" + repForm)
		b.expectStates(Announcing)
		last := b.start.Add(4400 * time.Millisecond)
		for range 10 {
			b.after(66 * time.Second)
			sent := b.sockets.Sent()
			if len(sent) < 2 {
				t.Fatalf("%d frames in 66 s", len(sent))
			}
			for _, f := range sent {
				if gap := f.At.Sub(last); gap != 0 && (gap < 54*time.Second || gap > 66*time.Second) {
					t.Errorf("refresh after %v", gap)
				}
				last = f.At
			}
		}
	})
}

func TestSchedule(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4)
		l.Entries[0].Schedule = lb.Gratuitous{Count: 2, Spacing: 3 * time.Second, Refresh: 20 * time.Second}
		b.announce(l)
		b.after(4 * time.Second)
		b.expectSent("0s" + reqForm + "0s" + repForm + "3s" + reqForm + "3s" + repForm)
		b.after(21500 * time.Millisecond) // 20 s after the burst, within 10 %
		if sent := b.sent(); strings.Count(sent, "who-has") != 1 {
			t.Errorf("sent for a refresh:\n%s", sent)
		}
	})
}

func TestAdvertisementBurst(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.announce(testLink(vip6))
		b.after(10 * time.Second)
		b.expectSent("0s" + naForm + "1.1s" + naForm + "2.2s" + naForm + "3.3s" + naForm + "4.4s" + naForm)
	})
}

func TestBurstStartsAnew(t *testing.T) {
	for name, change := range map[string]func(*Link){
		"generation":  func(l *Link) { l.Entries[0].Generation++ },
		"MAC":         func(l *Link) { l.MAC[5]++ },
		"index":       func(l *Link) { l.Index++ },
		"name":        func(l *Link) { l.Name = "eth9" },
		"probe":       func(l *Link) { l.Entries[0].Probe = true },
		"same":        func(l *Link) {},
		"new address": func(l *Link) { l.Entries = append(l.Entries, Entry{Addr: other4}) },
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, Options{}, func(b *bench) {
				l := testLink(vip4)
				b.announce(l)
				b.after(10 * time.Second)
				b.sockets.Sent()
				l = testLink(vip4)
				change(&l)
				b.announce(l)
				b.after(10 * time.Second)
				sent := b.sockets.Sent()
				want := 10
				if name == "same" || name == "name" || name == "probe" {
					want = 0
				}
				if len(sent) != want {
					t.Errorf("%d frames, want %d", len(sent), want)
				}
				for _, f := range sent {
					if f.Frame.Eth.Src != l.MAC {
						t.Errorf("sent from %s", f.Frame.Eth.Src)
					}
				}
			})
		})
	}
}

func TestLinkDownAndUp(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4, vip6)
		l.Entries[0].Probe = true
		b.announce(l)
		b.after(10 * time.Second)
		b.sockets.Sent()

		down := l
		down.Up = false
		b.announce(down)
		b.expectStates(Waiting, Waiting)
		if s := b.Status()[0]; s.Err != "interface eth0 is down" {
			t.Errorf("waits because %q", s.Err)
		}
		if got := b.sockets.Joined("eth0"); len(got) != 0 {
			t.Errorf("still in %v", got)
		}
		b.after(time.Minute)
		b.expectSent("")

		b.announce(l)
		b.after(time.Second)
		b.expectSent("1m10s" + reqForm + "1m10s" + repForm + "1m10s" + naForm)
		b.expectStates(Announcing, Announcing)
		if got := b.sockets.Joined("eth0"); len(got) != 1 {
			t.Errorf("in %v", got)
		}
	})
}

func TestWhatIsGoneStaysSilent(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.announce(testLink(vip4, other4))
		b.after(time.Second)
		b.sockets.Sent()
		if err := b.Set(Desired{Links: []Link{testLink(other4)}}); err != nil {
			t.Fatal(err)
		}
		// At once, before anything else had a chance to run.
		b.sockets.Deliver("eth0", arp(packet.ARPRequest, clientMAC, client4, vip4).Bytes())
		b.after(5 * time.Minute)
		for _, f := range b.sockets.Sent() {
			if f.Frame.ARP.SenderIP == vip4 {
				t.Errorf("after %v: %v", f.At.Sub(b.start), f.Frame)
			}
		}
		b.announce()
		b.after(5 * time.Minute)
		b.expectSent("")
		b.expectStates()
	})
}

func TestFence(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.Extend(time.Time{})
		b.announce(testLink(vip4))
		b.after(time.Minute)
		b.expectSent("")
		b.Extend(time.Now().Add(3 * time.Second))
		b.after(10 * time.Second)
		b.expectSent("1m0s" + reqForm + "1m0s" + repForm + "1m1.1s" + reqForm + "1m1.1s" + repForm + "1m2.2s" + reqForm + "1m2.2s" + repForm)

		// The process was stopped; what has queued up is old.
		for range 5 {
			b.deliver(arp(packet.ARPRequest, clientMAC, client4, vip4))
		}
		b.expectSent("")
		b.expectCount("arp_ignored_fenced", 5)
		b.expectCount("arp_sent_reply", 0)

		b.Extend(time.Now().Add(time.Second))
		synctest.Wait()
		b.deliver(arp(packet.ARPRequest, clientMAC, client4, vip4))
		b.expectSent("1m10s" + reqForm + "1m10s" + repForm +
			"1m10s arp reply 10.77.0.200 is-at 02:00:00:00:00:11 to 10.77.0.100 (02:00:00:00:01:00)\n")
		b.expectCount("arp_ignored_fenced", 5)
	})
}

func TestProbesCountOnlyWhenHeard(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4)
		l.Entries[0].Probe = true
		b.Extend(time.Now().Add(250 * time.Millisecond)) // after the third probe, before the verdict
		b.announce(l)
		b.after(10 * time.Second)
		b.expectSent("0s" + probe4 + "100ms" + probe4 + "200ms" + probe4)
		b.expectStates(Probing)
		b.Extend(time.Now().Add(time.Hour))
		b.after(305 * time.Millisecond)
		b.expectSent("10s" + probe4 + "10.1s" + probe4 + "10.2s" + probe4 + "10.3s" + reqForm + "10.3s" + repForm)
	})
}

func TestProbeBeforeTheFirstAnswer(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4, vip6)
		l.Entries[0].Probe, l.Entries[1].Probe = true, true
		b.announce(l)
		b.expectStates(Probing, Probing)
		b.after(150 * time.Millisecond)
		// A client may ask meanwhile, a switch may reflect: no conflicts.
		b.deliver(arp(packet.ARPRequest, clientMAC, client4, vip4))
		b.deliver(packet.Probe(ownMAC, vip4))
		b.deliver(packet.Detect(ownMAC, vip6))
		b.after(time.Second)
		b.expectSent("0s" + probe4 + "0s" + probe6 + "100ms" + probe4 + "100ms" + probe6 + "200ms" + probe4 + "200ms" + probe6 +
			"300ms" + reqForm + "300ms" + repForm + "300ms" + naForm)
		b.expectStates(Announcing, Announcing)
		b.expectCount("arp_ignored_stranger_claim", 0)
		b.expectCount("arp_ignored_reflected", 1)
		b.expectCount("ndp_ignored_reflected", 1)
	})
}

func TestConflict(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4)
		l.Entries[0].Probe = true
		answer := arp(packet.ARPReply, strangerMAC, vip4, netip.IPv4Unspecified())
		b.announce(l)
		b.after(120 * time.Millisecond)
		b.deliver(answer)
		b.expectStates(Conflict)
		if s := b.Status()[0]; s.Stranger != strangerMAC {
			t.Errorf("stranger %s", s.Stranger)
		}
		select {
		case <-b.Events():
		default:
			t.Error("no event")
		}
		// It is asked every 10 s, and answers until it is switched off.
		for range 3 {
			b.sockets.Sent()
			b.after(10*time.Second + 50*time.Millisecond)
			b.deliver(answer)
		}
		b.sockets.Sent()
		b.expectStates(Conflict)
		b.expectCount("arp_sent_gratuitous_request", 0)
		b.after(10 * time.Second)
		b.after(time.Second)
		b.expectStates(Announcing)
		if sent := b.sent(); strings.Count(sent, "probe") != 3 || strings.Count(sent, "who-has") != 1 {
			t.Errorf("sent:\n%s", sent)
		}
		if log := b.log.String(); strings.Count(log, "in use by another host") != 1 || !strings.Contains(log, strangerMAC.String()) {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestContest(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.announce(testLink(vip4))
		b.after(30 * time.Second)
		b.sockets.Sent()
		claim := arp(packet.ARPRequest, strangerMAC, vip4, vip4)
		for range 60 * 20 {
			b.deliver(claim)
			b.after(50 * time.Millisecond)
		}
		defences := 0
		for _, f := range b.sockets.Sent() {
			if f.Frame.Eth.Dst == lb.Broadcast {
				defences++
			}
		}
		if defences < 6 || defences > 7 {
			t.Errorf("%d broadcasts in 60 s of contest", defences)
		}
		b.expectCount("arp_sent_defence", uint64(defences))
		b.expectCount("arp_ignored_stranger_claim", 1200)
		b.expectStates(Contested)
		if s := b.Status()[0]; s.Stranger != strangerMAC {
			t.Errorf("stranger %s", s.Stranger)
		}
		if n := strings.Count(b.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, b.log)
		}
		b.deliver(arp(packet.ARPRequest, clientMAC, client4, vip4))
		if sent := b.sent(); !strings.Contains(sent, "is-at") {
			t.Errorf("a client got no answer during the contest: %q", sent)
		}

		b.after(19 * time.Second)
		b.expectStates(Contested)
		b.expectSent("")
		b.after(10 * time.Second)
		b.expectStates(Announcing)
		if n := len(b.sockets.Sent()); n != 10 {
			t.Errorf("%d frames correct the segment after the contest, want 10", n)
		}
	})
}

func TestNewcomersAreTold(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.announce(testLink(vip4))
		b.after(30 * time.Second)
		b.sockets.Sent()
		for range 100 {
			b.deliver(packet.Probe(strangerMAC, vip4))
			b.after(50 * time.Millisecond)
		}
		for _, f := range b.sockets.Sent() {
			if f.Frame.Eth.Dst != strangerMAC {
				t.Errorf("sent %v", f.Frame)
			}
		}
		b.expectCount("arp_sent_reply", 100)
		b.expectCount("arp_sent_defence", 0)
		b.expectStates(Contested)
	})
}

// TestReflectedFrames: switches and radios that send everything back must not
// keep an address from being announced.
func TestReflectedFrames(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4, vip6)
		l.Entries[0].Probe, l.Entries[1].Probe = true, true
		b.announce(l)
		for range 1000 {
			for _, f := range b.sockets.Sent() {
				b.deliver(f.Frame)
			}
			b.after(5 * time.Millisecond)
		}
		b.expectStates(Announcing, Announcing)
		b.expectCount("arp_ignored_stranger_claim", 0)
		b.expectCount("ndp_ignored_stranger_claim", 0)
		b.expectCount("arp_ignored_reflected", 3+2*5)
	})
}

func TestManyAddressesDontFlood(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		// One old address, whose refresh must not be in the way of the others.
		b.announce(testLink(vip4))
		b.after(30 * time.Second)
		b.sockets.Sent()
		l := testLink(vip4)
		for i := range 5000 {
			l.Entries = append(l.Entries, Entry{Addr: netip.AddrFrom4([4]byte{10, 78, byte(i >> 8), byte(i)})})
		}
		took := time.Now()
		b.announce(l)
		b.after(25 * time.Second)
		seen := make(map[netip.Addr]int)
		perSecond := make(map[int]int)
		firsts := 0
		for _, f := range b.sockets.Sent() {
			a := f.Frame.ARP.SenderIP
			if seen[a]++; seen[a] == 1 && a != vip4 {
				firsts++
			}
			if seen[a] == 3 && a != vip4 && firsts < 5000 {
				t.Fatalf("%s was announced a second time before all were announced once", a)
			}
			if a == vip4 && firsts < 5000 {
				t.Fatal("a refresh went before a first announcement")
			}
			perSecond[int(f.At.Sub(took)/time.Second)]++
		}
		if firsts != 5000 {
			t.Errorf("%d of 5000 announced in 25 s", firsts)
		}
		for s, n := range perSecond {
			if n > 520 && s > 0 || n > 1520 {
				t.Errorf("%d frames in second %d", n, s)
			}
		}
	})
}

func TestOneFamilyWaits(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.sockets.Refuse("eth0", NDP, ErrIPv6Disabled)
		b.announce(testLink(vip4, vip6))
		b.after(30 * time.Second)
		b.expectStates(Announcing, Waiting)
		if s := b.Status()[1]; !strings.Contains(s.Err, "ipv6 is disabled") {
			t.Errorf("waits because %q", s.Err)
		}
		if n := strings.Count(b.log.String(), "not announcing for now"); n != 1 {
			t.Errorf("said %d times:\n%s", n, b.log)
		}
		b.sockets.Refuse("eth0", NDP, nil)
		b.sockets.Sent()
		b.after(maxBackoff)
		b.expectStates(Announcing, Announcing)
		if sent := b.sent(); !strings.Contains(sent, "advertisement") {
			t.Errorf("sent:\n%s", sent)
		}
		b.after(10 * time.Second)
		if log := b.log.String(); !strings.Contains(log, "announcing again") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestSocketFails(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		other := testLink(other4)
		other.Name, other.Index = "eth1", 8
		b.announce(testLink(vip4), other)
		b.after(30 * time.Second)
		b.sockets.Sent()
		b.sockets.Refuse("eth0", ARP, unix.ENODEV)
		b.sockets.Fail("eth0", ARP, unix.ENETDOWN)
		b.after(time.Second)
		b.expectStates(Waiting, Announcing)
		b.expectSent("")
		opened := b.sockets.Opened()
		// The interface comes back under another index: no waiting for the backoff.
		b.sockets.Refuse("eth0", ARP, nil)
		l := testLink(vip4)
		l.Index = 20
		b.announce(l, other)
		b.expectStates(Announcing, Announcing)
		b.expectSent("31s" + reqForm + "31s" + repForm)
		if n := b.sockets.Opened() - opened; n != 1 {
			t.Errorf("%d sockets opened", n)
		}
	})
}

func TestSharedGroup(t *testing.T) {
	group := []netip.Addr{netip.MustParseAddr("ff02::1:ff00:200")}
	onBench(t, Options{}, func(b *bench) {
		for _, step := range []struct {
			addrs []netip.Addr
			want  []netip.Addr
		}{
			{[]netip.Addr{vip6, twin6}, group},
			{[]netip.Addr{twin6}, group},
			{[]netip.Addr{vip4}, nil},
			{[]netip.Addr{vip4, twin6}, group},
			{nil, nil},
		} {
			b.announce(testLink(step.addrs...))
			if got := b.sockets.Joined("eth0"); !slices.Equal(got, step.want) {
				t.Errorf("%v: joined %v, want %v", step.addrs, got, step.want)
			}
			for _, a := range step.addrs {
				if a.Is6() && !b.sockets.Deliver("eth0", solicit(clientMAC, client6, a).Bytes()) {
					t.Errorf("%v: a solicitation for %s is not let through", step.addrs, a)
				}
			}
		}
	})
}

func TestFilterFollows(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4, vip6)
		l.Entries[0].Probe = true
		b.announce(l)
		want := "eth0 arp 10.77.0.200 claims\neth0 ndp 2001:db8:77::200 questions claims"
		if d := cmp.Diff(want, b.sockets.String()); d != "" {
			t.Errorf("filters (-want +got):\n%s", d)
		}
		b.after(time.Second)
		b.announce(testLink(vip4))
		if d := cmp.Diff("eth0 arp 10.77.0.200 questions claims", b.sockets.String()); d != "" {
			t.Errorf("filters (-want +got):\n%s", d)
		}
		for range 3 {
			b.deliver(arp(packet.ARPRequest, clientMAC, client4, other4))
		}
		b.Status()
		b.expectCount("arp_ignored_not_announced", 3)
		b.after(2 * time.Second)
		b.expectCount("arp_ignored_not_announced", 3)
	})
}

func TestAnswersWhereItWasAsked(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		eth0, eth1 := testLink(vip4), testLink(vip4, other4)
		eth1.Name, eth1.Index, eth1.MAC = "eth1", 8, lb.MAC{2, 0, 0, 0, 1, 0x11}
		b.announce(eth0, eth1)
		b.after(10 * time.Second)
		b.sockets.Sent()
		for _, ask := range []struct {
			ifname string
			target netip.Addr
			woken  bool
		}{{"eth1", vip4, true}, {"eth0", vip4, true}, {"eth0", other4, false}} {
			if woken := b.sockets.Deliver(ask.ifname, arp(packet.ARPRequest, clientMAC, client4, ask.target).Bytes()); woken != ask.woken {
				t.Errorf("%s on %s: woken is %v", ask.target, ask.ifname, woken)
			}
			synctest.Wait()
			sent := b.sockets.Sent()
			if !ask.woken {
				if len(sent) != 0 {
					t.Errorf("%s on %s: %v", ask.target, ask.ifname, sent)
				}
				continue
			}
			mac := eth0.MAC
			if ask.ifname == "eth1" {
				mac = eth1.MAC
			}
			if len(sent) != 1 || sent[0].Interface != ask.ifname || sent[0].Frame.ARP.SenderMAC != mac {
				t.Errorf("%s on %s: %v", ask.target, ask.ifname, sent)
			}
		}
	})
}

func TestWhatIsWrongDisturbsNothingElse(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		l := testLink(vip4, netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"))
		bare := testLink(other4)
		bare.Name, bare.Index, bare.MAC = "eth1", 8, lb.MAC{}
		err := b.Set(Desired{Links: []Link{l, bare, l}})
		want := "announce ::ffff:10.0.0.1 on eth0: not a unicast address that can be announced"
		for _, line := range []string{want, "announce 224.0.0.1 on eth0", "announce on eth1: the link has no hardware address", "announce on eth0: the link is listed twice"} {
			if err == nil || !strings.Contains(err.Error(), line) {
				t.Errorf("error %v lacks %q", err, line)
			}
		}
		synctest.Wait()
		b.expectStates(Announcing)
	})
}

func TestFake(t *testing.T) {
	f := NewFake()
	l := testLink(vip4, vip6)
	l.Entries[0].Probe = true
	if err := f.Set(Desired{Links: []Link{l}}); err != nil {
		t.Fatal(err)
	}
	want := "eth0 index 7 mac 02:00:00:00:00:11 up members 2\n  10.77.0.200 generation 1 probe\n  2001:db8:77::200 generation 1\n"
	if d := cmp.Diff(want, f.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	f.Report(Status{Interface: "eth0", Addr: vip6, State: Conflict, Stranger: strangerMAC})
	<-f.Events()
	wantStatus := []Status{{Interface: "eth0", Addr: vip4, State: Announcing}, {Interface: "eth0", Addr: vip6, State: Conflict, Stranger: strangerMAC}}
	if d := cmp.Diff(wantStatus, f.Status(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What can't be announced is known before anything is, and a socket that fails
// for a moment is no trouble.
func TestTrouble(t *testing.T) {
	onBench(t, Options{}, func(b *bench) {
		b.sockets.Refuse("eth0", NDP, ErrIPv6Disabled)
		l := testLink()
		l.Hold = [numFamilies]bool{true, true}
		b.announce(l)
		b.after(10 * time.Millisecond)
		if why := b.Trouble("eth0", ARP); why != "" {
			t.Errorf("ARP: %q", why)
		}
		if why := b.Trouble("eth0", NDP); !strings.Contains(why, ErrIPv6Disabled.Error()) {
			t.Errorf("NDP: %q", why)
		}
		if why := b.Trouble("eth1", NDP); why != "" {
			t.Errorf("unknown link: %q", why)
		}
		b.sockets.Refuse("eth0", NDP, nil)
		b.after(10 * time.Second)
		if why := b.Trouble("eth0", NDP); why != "" {
			t.Errorf("NDP works again: %q", why)
		}
		b.sockets.Refuse("eth0", ARP, os.ErrPermission)
		l.Index++ // the socket has to be opened anew
		b.announce(l)
		b.after(500 * time.Millisecond)
		if why := b.Trouble("eth0", ARP); why != "" {
			t.Errorf("ARP failed just now: %q", why)
		}
		b.after(time.Second)
		if why := b.Trouble("eth0", ARP); !strings.Contains(why, "CAP_NET_RAW and CAP_BPF") {
			t.Errorf("ARP fails for long: %q", why)
		}
		l.Hold = [numFamilies]bool{}
		b.announce(l)
		b.after(time.Second)
		if why := b.Trouble("eth0", ARP); why != "" {
			t.Errorf("ARP isn't wanted: %q", why)
		}
	})
}
