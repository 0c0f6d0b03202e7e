package agent

import (
	"time"

	"github.com/fairlead-lb/fairlead/internal/lb"
)

// Config is what an agent is told on its command line.
type Config struct {
	Node       string   // this node's name, as in the manifests
	Interfaces []string // names or globs; empty: the one that holds the node's address
	StateDir   string
	Forwarding lb.Forwarding // of services that don't say
	Listen     string        // host:port of metrics and health; empty: none
	// DrainTimeout bounds how long a stopping agent waits for others to take
	// its VIPs over.
	DrainTimeout time.Duration
}

// DefaultDrainTimeout is enough for a handover that has to try several targets.
const DefaultDrainTimeout = 5 * time.Second
