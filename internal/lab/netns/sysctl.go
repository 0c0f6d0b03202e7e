package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sysctl is a setting below /proc/sys, written with slashes.
type Sysctl struct {
	Key   string // "net/ipv4/ip_forward"
	Value string
	// Optional settings may be missing from the kernel.
	Optional bool
}

// Set writes settings in the namespace, in order.
func (n *Namespace) Set(settings ...Sysctl) error {
	return n.Do(func() error {
		for _, s := range settings {
			// A bare file of this name only, never one that the key leads out to.
			if strings.Contains(s.Key, "..") {
				return fmt.Errorf("set sysctl %s: not a key", s.Key)
			}
			err := os.WriteFile(filepath.Join("/proc/sys", s.Key), []byte(s.Value), 0)
			if err != nil && !(s.Optional && errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("set sysctl %s in %s: %w", s.Key, n.name, err)
			}
		}
		return nil
	})
}
