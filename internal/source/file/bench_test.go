package file

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLoad reads a thousand services of ten endpoints each, all in one
// file.
func BenchmarkLoad(b *testing.B) {
	var s strings.Builder
	s.WriteString("{apiVersion: v1, kind: Node, metadata: {name: n1}}\n")
	for i := range 1000 {
		fmt.Fprintf(&s, `---
apiVersion: v1
kind: Service
metadata: {name: s%[1]d}
spec: {type: LoadBalancer, ports: [{name: web, port: 80, targetPort: 8080}]}
status: {loadBalancer: {ingress: [{ip: 10.1.%[2]d.%[3]d}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s%[1]d-1, labels: {kubernetes.io/service-name: s%[1]d}}
addressType: IPv4
ports: [{name: web, port: 8080}]
endpoints:
`, i, i/256, i%256)
		for j := range 10 {
			fmt.Fprintf(&s, "- {addresses: [10.244.%d.%d], nodeName: n1, conditions: {ready: true}}\n", j, i%250)
		}
	}
	files := []manifest{{path: "all.yaml", data: []byte(s.String())}}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		snap, err := load(files)
		if err != nil || len(snap.Services) != 1000 {
			b.Fatal(err)
		}
	}
}
