package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fairlead-lb/fairlead/internal/lab/netns"
)

const (
	// snapLen is how much of a frame is kept, in bytes.
	snapLen = 128
	// maxFrames bounds the memory of a recorder.
	maxFrames = 500_000
	// receiveBuffer holds what comes in while the process waits for a core.
	receiveBuffer = 4 << 20
)

// Recorder keeps the advertisements that come in on the ports of a switch.
type Recorder struct {
	file  *os.File
	conn  syscall.RawConn
	ports map[int]string // by interface index
	done  chan struct{}

	mu      sync.Mutex
	events  []Event
	frames  []frame
	counts  [numVerdicts]int
	dropped int
	changed chan struct{} // closed and replaced when there are new events
}

// frame is a received frame for the pcap file.
type frame struct {
	at     time.Time
	length int
	data   []byte
}

// Record starts to record in the switch's namespace. Only frames that come in
// on one of the named ports count.
func Record(ns *netns.Namespace, ports []string) (*Recorder, error) {
	r := &Recorder{
		ports:   make(map[int]string),
		done:    make(chan struct{}),
		changed: make(chan struct{}),
	}
	var fd int
	err := ns.Do(func() (err error) {
		for _, p := range ports {
			ifi, err := net.InterfaceByName(p)
			if err != nil {
				return fmt.Errorf("find port %s: %w", p, err)
			}
			r.ports[ifi.Index] = p
		}
		fd, err = openSocket()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("record in %s: %w", ns.Name(), err)
	}
	r.file = os.NewFile(uintptr(fd), "capture")
	if r.conn, err = r.file.SyscallConn(); err != nil {
		r.file.Close()
		return nil, fmt.Errorf("record in %s: %w", ns.Name(), err)
	}
	go r.run()
	return r, nil
}

// openSocket returns a packet socket on all interfaces of the current
// namespace. The filter is in place before the first frame can come in.
func openSocket() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("open packet socket: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	prog, err := filter()
	if err != nil {
		return -1, fmt.Errorf("assemble filter: %w", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &fprog); err != nil {
		return -1, fmt.Errorf("attach filter: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer); err != nil {
		return -1, fmt.Errorf("set receive buffer: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return -1, fmt.Errorf("ask for time stamps: %w", err)
	}
	all := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all}); err != nil {
		return -1, fmt.Errorf("bind packet socket: %w", err)
	}
	return fd, nil
}

// Close stops recording. What was recorded can still be read.
func (r *Recorder) Close() error {
	err := r.file.Close()
	<-r.done
	return err
}

func (r *Recorder) run() {
	defer close(r.done)
	buf := make([]byte, snapLen)
	oob := make([]byte, unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{}))))
	for {
		var n, oobn int
		var from unix.Sockaddr
		var rerr error
		err := r.conn.Read(func(fd uintptr) bool {
			n, oobn, _, from, rerr = unix.Recvmsg(int(fd), buf, oob, unix.MSG_TRUNC)
			return rerr != unix.EAGAIN && rerr != unix.EINTR
		})
		if err != nil {
			return // closed
		}
		// ENETDOWN is an interface that went down; there are others.
		ll, ok := from.(*unix.SockaddrLinklayer)
		if rerr != nil || !ok {
			continue
		}
		if port, ok := r.ports[ll.Ifindex]; ok {
			r.add(port, buf[:min(n, len(buf))], n, timestamp(oob[:oobn]))
		}
	}
}

// timestamp returns the kernel's time of a frame, or now if there is none.
func timestamp(oob []byte) time.Time {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err == nil {
		for _, m := range msgs {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS &&
				len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
				ts := *(*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
				return time.Unix(ts.Unix())
			}
		}
	}
	return time.Now()
}

func (r *Recorder) add(port string, data []byte, length int, at time.Time) {
	addr, v := parse(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[v]++
	if len(r.frames) == maxFrames {
		r.dropped++
		return
	}
	r.frames = append(r.frames, frame{at, length, append([]byte(nil), data...)})
	if v != Advertisement {
		return
	}
	r.events = append(r.events, Event{At: at, Port: port, Addr: addr})
	close(r.changed)
	r.changed = make(chan struct{})
}

// Events returns what was seen so far, in order of arrival.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[:len(r.events):len(r.events)]
}

// Wait returns the first event that matches, waiting for it if need be.
func (r *Recorder) Wait(ctx context.Context, match func(Event) bool) (Event, error) {
	for seen := 0; ; {
		r.mu.Lock()
		events, changed := r.events[seen:], r.changed
		r.mu.Unlock()
		for _, e := range events {
			if match(e) {
				return e, nil
			}
		}
		seen += len(events)
		select {
		case <-changed:
		case <-r.done:
			return Event{}, errors.New("wait for an advertisement: recorder closed")
		case <-ctx.Done():
			return Event{}, fmt.Errorf("wait for an advertisement: %w", context.Cause(ctx))
		}
	}
}

// Counts returns how many frames had each verdict, those without any left out,
// and how many were dropped because there were too many.
func (r *Recorder) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[string]int)
	for v, n := range r.counts {
		if n > 0 {
			counts[Verdict(v).String()] = n
		}
	}
	if r.dropped > 0 {
		counts["dropped"] = r.dropped
	}
	return counts
}

// WritePcap writes the frames that were seen as a pcap file.
func (r *Recorder) WritePcap(w io.Writer) error {
	r.mu.Lock()
	frames := r.frames[:len(r.frames):len(r.frames)]
	r.mu.Unlock()
	return writePcap(w, frames)
}
