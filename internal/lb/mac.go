package lb

import "fmt"

// MAC is a 48-bit IEEE 802 address in transmission order.
type MAC [6]byte

// Broadcast is the all-stations address.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// IsZero reports whether m is unset.
func (m MAC) IsZero() bool { return m == MAC{} }

// MarshalText implements [encoding.TextMarshaler], for logs and JSON.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
