package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// namespace is the first word of every series of ours.
const namespace = "fairlead"

// source is what a Vec of any reason type gives a Set.
type source interface {
	describe() (name, help string)
	each(func(label string, n uint64))
}

// Set is the Vecs of one process. It is a prometheus.Collector.
type Set struct {
	mu      sync.Mutex
	sources []source
}

// NewSet returns an empty Set.
func NewSet() *Set { return &Set{} }

// Register makes a Vec, adds it to s and returns it.
func Register[R Reason](s *Set, name, help string, n int) *Vec[R] {
	v := NewVec[R](name, help, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = append(s.sources, v)
	return v
}

// Map returns every counter that is not zero, keyed "name_reason".
func (s *Set) Map() map[string]uint64 {
	m := make(map[string]uint64)
	for _, src := range s.snapshot() {
		name, _ := src.describe()
		src.each(func(label string, n uint64) {
			if n > 0 {
				m[name+"_"+label] = n
			}
		})
	}
	return m
}

// Describe implements prometheus.Collector.
func (s *Set) Describe(ch chan<- *prometheus.Desc) {
	for _, src := range s.snapshot() {
		ch <- desc(src)
	}
}

// Collect implements prometheus.Collector.
func (s *Set) Collect(ch chan<- prometheus.Metric) {
	for _, src := range s.snapshot() {
		d := desc(src)
		src.each(func(label string, n uint64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
		})
	}
}

func (s *Set) snapshot() []source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]source(nil), s.sources...)
}

func desc(src source) *prometheus.Desc {
	name, help := src.describe()
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name+"_total"), help, []string{"reason"}, nil)
}
