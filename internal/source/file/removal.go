package file

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
	"github.com/fairlead-lb/fairlead/internal/source/convert"
)

// part is something of a snapshot that traffic depends on. What doesn't apply
// is zero.
type part struct {
	object string     // "Service default/web"
	addr   netip.Addr // a VIP of it
	// A port of it that has endpoints of the family, 4 or 6.
	port     uint16
	protocol lb.Protocol
	family   int
}

func (p part) String() string {
	switch {
	case p.addr.IsValid():
		return fmt.Sprintf("%s: address %s", p.object, p.addr)
	case p.family != 0:
		return fmt.Sprintf("%s: IPv%d endpoints of port %d/%s", p.object, p.family, p.port, p.protocol)
	}
	return p.object
}

// parts lists what a snapshot has, the whole before its parts.
func parts(s *lb.Snapshot) []part {
	var out []part
	for _, n := range s.Nodes {
		out = append(out, part{object: convert.ObjectString("Node", "", n.Name)})
	}
	for _, p := range s.Pools {
		out = append(out, part{object: convert.ObjectString("AddressPool", "", p.Name)})
	}
	for _, a := range s.Announcements {
		out = append(out, part{object: convert.ObjectString("Announcement", "", a.Name)})
	}
	for _, svc := range s.Services {
		object := convert.ObjectString("Service", svc.Name.Namespace, svc.Name.Name)
		out = append(out, part{object: object})
		for _, a := range svc.Addresses {
			out = append(out, part{object: object, addr: a})
		}
		for _, p := range svc.Ports {
			for _, e := range p.Endpoints {
				served := part{object: object, port: p.Port, protocol: p.Protocol, family: 6}
				if e.Addr.Addr().Is4() {
					served.family = 4
				}
				// Endpoints are sorted by address: those of a family are together.
				if out[len(out)-1] != served {
					out = append(out, served)
				}
			}
		}
	}
	return out
}

// takenAway returns what last has and next has not. Neither has anything if it
// is nil, and a next that is nil takes nothing away.
func takenAway(last, next *lb.Snapshot) []part {
	if last == nil || next == nil {
		return nil
	}
	left := make(map[part]bool)
	for _, p := range parts(next) {
		left[p] = true
	}
	return slices.DeleteFunc(parts(last), func(p part) bool { return left[p] })
}

// doubt remembers since when every load has taken something away from the last
// published snapshot.
type doubt struct {
	since time.Time
}

// about is told of a load whether it takes something away. began is true for
// the first of a row that do, wait if the directory has to stay unchanged before
// it is believed.
func (d *doubt) about(gone bool) (began, wait bool) {
	if !gone {
		d.since = time.Time{}
		return false, false
	}
	if began = d.since.IsZero(); began {
		d.since = time.Now()
	}
	return began, time.Since(d.since) < stubbornness
}

// stays reports whether the directory remains as it was seen for as long as a
// removal has to be confirmed. If it doesn't, it has come to rest again.
func (s *Source) stays(ctx context.Context, w *watcher, seen []stamp) (bool, error) {
	changed, err := settle(ctx, w.changed, confirmation)
	if changed || err != nil {
		return false, err
	}
	now, err := look(s.dir)
	return err == nil && slices.Equal(now, seen), nil
}
