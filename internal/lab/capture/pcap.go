package capture

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The constants of the classic pcap format with times in nanoseconds.
const (
	pcapMagic    = 0xa1b23c4d
	linkEthernet = 1
)

// writePcap writes frames as a pcap file in little-endian byte order.
func writePcap(w io.Writer, frames []frame) error {
	b := bufio.NewWriter(w)
	le := binary.LittleEndian
	h := le.AppendUint32(nil, pcapMagic)
	h = le.AppendUint16(h, 2) // version 2.4
	h = le.AppendUint16(h, 4)
	h = le.AppendUint64(h, 0) // time zone, accuracy: UTC and unsaid
	h = le.AppendUint32(h, snapLen)
	h = le.AppendUint32(h, linkEthernet)
	b.Write(h)
	for _, f := range frames {
		h = le.AppendUint32(h[:0], uint32(f.at.Unix()))
		h = le.AppendUint32(h, uint32(f.at.Nanosecond()))
		h = le.AppendUint32(h, uint32(len(f.data)))
		h = le.AppendUint32(h, uint32(f.length))
		b.Write(h)
		b.Write(f.data)
	}
	// A bufio.Writer remembers its first error.
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write pcap: %w", err)
	}
	return nil
}
