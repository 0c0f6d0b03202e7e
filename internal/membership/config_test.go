package membership

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-lb/fairlead/internal/metrics"
)

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"good", Config{Node: "n1", Key: testKey}, ""},
		{"no name", Config{}, "node name"},
		{"a name with a blank", Config{Node: "n 1"}, "node name"},
		{"a name too long", Config{Node: strings.Repeat("n", 254)}, "node name"},
		{"empty key", Config{Node: "n1", Key: []byte{}}, "key is empty"},
		{"only previous keys", Config{Node: "n1", PreviousKeys: [][]byte{testKey}}, "without a current one"},
		{"an empty previous key", Config{Node: "n1", Key: testKey, PreviousKeys: [][]byte{nil}}, "previous heartbeat key is empty"},
		{"too fast", Config{Node: "n1", Interval: time.Millisecond}, "interval"},
		{"dead after one", Config{Node: "n1", DeadAfter: 1}, "dead after 1"},
		{"a peer that is a group", Config{Node: "n1", Peers: []netip.Addr{groupIPv4}}, "heartbeat peer"},
		{"no peer", Config{Node: "n1", Peers: []netip.Addr{{}}}, "heartbeat peer"},
	} {
		h, err := New(c.cfg, slog.New(slog.DiscardHandler), metrics.NewSet())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && h.DeadTime() != 150*time.Millisecond:
			t.Errorf("%s: dead time %v", c.name, h.DeadTime())
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one about %q", c.name, err, c.want)
		}
	}
}
