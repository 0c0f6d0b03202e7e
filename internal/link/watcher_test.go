package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// fakeKernel has its dumps and streams made up by a test.
type fakeKernel struct {
	dumps []error // what dumps fail with; nil for success
	now   *table
	subs  []*fakeStream
}

// fakeStream is a subscription that a test feeds.
type fakeStream struct {
	*subscription
	overrun func() // breaks the stream off
}

func (k *fakeKernel) subscribe() (*subscription, error) {
	s := &subscription{
		links: make(chan netlink.LinkUpdate, 8), addrs: make(chan netlink.AddrUpdate, 8), done: make(chan struct{}),
	}
	overrun := sync.OnceFunc(func() { close(s.links) })
	go func() { // as the library does
		<-s.done
		overrun()
		close(s.addrs)
	}()
	k.subs = append(k.subs, &fakeStream{s, overrun})
	return s, nil
}

func (k *fakeKernel) dump() (*table, error) {
	if len(k.dumps) > 0 {
		err := k.dumps[0]
		k.dumps = k.dumps[1:]
		if err != nil {
			return nil, err
		}
	}
	t := newTable()
	for _, i := range k.now.links {
		t.setLink(i)
	}
	return t, nil
}

func (k *fakeKernel) last() *fakeStream { return k.subs[len(k.subs)-1] }

func TestOverrunReadsEverythingAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeKernel{now: newTable(), dumps: []error{nil, errors.New("busy")}}
		a := attrs(2, "eth0")
		k.now.setLink(interfaceOf(&a))
		w := NewWatcher(slog.New(slog.DiscardHandler))
		w.kernel = k
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()

		if s := <-w.Updates(); !s.Interfaces[0].Usable() {
			t.Fatalf("first state %+v, want eth0 usable", s)
		}
		// The carrier goes, and the event is among those that the kernel drops.
		a.RawFlags &^= unix.IFF_LOWER_UP | unix.IFF_RUNNING
		k.now.setLink(interfaceOf(&a))
		k.last().complain(unix.ENOBUFS)
		k.last().overrun()
		if s := <-w.Updates(); s.Interfaces[0].Usable() {
			t.Fatalf("state after the overrun %+v, want eth0 unusable", s)
		}
		if len(k.subs) != 3 { // the second was given up with its dump
			t.Errorf("%d subscriptions, want 3", len(k.subs))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLateReaderGetsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeKernel{now: newTable()}
		w := NewWatcher(slog.New(slog.DiscardHandler))
		w.kernel = k
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		for _, mtu := range []int{1400, 1500, 9000} {
			a := attrs(2, "eth0")
			a.MTU = mtu
			k.last().links <- linkEvent(unix.RTM_NEWLINK, unix.AF_UNSPEC, a)
			synctest.Wait()
		}
		if s := <-w.Updates(); s.Interfaces[0].MTU != 9000 || !s.Equal(w.Current()) {
			t.Errorf("update %+v, current %+v, want MTU 9000", s, w.Current())
		}
		// An event that changes nothing is no update.
		a := attrs(2, "eth0")
		a.MTU = 9000
		k.last().links <- linkEvent(unix.RTM_NEWLINK, unix.AF_UNSPEC, a)
		synctest.Wait()
		select {
		case s := <-w.Updates():
			t.Errorf("update %+v although nothing changed", s)
		default:
		}
		cancel()
		<-done
	})
}

func TestFake(t *testing.T) {
	f := NewFake(State{})
	f.Set(host())
	if s := <-f.Updates(); !s.Equal(host()) || !f.Current().Equal(host()) {
		t.Errorf("update %+v", s)
	}
}
