package file

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const wholeService = `apiVersion: v1
kind: Service
metadata:
  name: w
  creationTimestamp: 2026-01-02T03:04:05Z
  labels: {a.b/c: d}
spec:
  type: LoadBalancer
  publishNotReadyAddresses: true
  ports:
  - port: 80
    targetPort: web
    name: a
  - port: 81
    targetPort: 8081
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}
status: {loadBalancer: {ingress: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]}}
`

// TestLocate: wherever a value of an object has the wrong type, the error names
// that value and its line, as long as it is the first such value.
func TestLocate(t *testing.T) {
	for _, tt := range []struct {
		old, bad, field, msg string
	}{
		{"creationTimestamp: 2026-01-02T03:04:05Z", "creationTimestamp: {}", "metadata.creationTimestamp", ""},
		{"a.b/c: d", "a.b/c: 1", "metadata.labels[a.b/c]", `want a string, have the number 1: write "1"`},
		{"type: LoadBalancer", "type: []", "spec.type", "want a string, have a list"},
		{"publishNotReadyAddresses: true", "publishNotReadyAddresses: maybe", "spec.publishNotReadyAddresses", `want true or false, have the string "maybe"`},
		{"port: 80", "port: eighty", "spec.ports[0].port", `want an integer of 32 bits, have the string "eighty"`},
		{"port: 80", "port: 1.5", "spec.ports[0].port", "want an integer of 32 bits, have the number 1.5"},
		{"targetPort: web", "targetPort: {a: 1}", "spec.ports[0].targetPort", ""},
		{"name: a", "name: true", "spec.ports[0].name", `want a string, have true without quotes: write "true"`},
		{"port: 81", "port: 3000000000", "spec.ports[1].port", "want an integer of 32 bits, have the number 3000000000"},
		{"targetPort: 8081", "targetPort: false", "spec.ports[1].targetPort", ""},
		{"timeoutSeconds: 5", "timeoutSeconds: five", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", ""},
		{"{ip: 10.0.0.2}", "{ip: 7}", "status.loadBalancer.ingress[1].ip", `want a string, have the number 7: write "7"`},
		{"{ip: 10.0.0.2}", "10.0.0.2", "status.loadBalancer.ingress[1]", `want a mapping, have the string "10.0.0.2"`},
		{"[{ip: 10.0.0.1}, {ip: 10.0.0.2}]", "{ip: 10.0.0.1}", "status.loadBalancer.ingress", "want a list, have a mapping"},
		{"{loadBalancer: {", "[{loadBalancer: {", "status", "want a mapping, have a list"},
	} {
		t.Run(tt.field, func(t *testing.T) {
			text := strings.Replace(wholeService, tt.old, tt.bad, 1)
			if strings.HasPrefix(tt.bad, "[{") {
				text = strings.Replace(text, "}]}}\n", "}]}}]\n", 1)
			}
			// A later mistake must not hide the first.
			text = strings.TrimSuffix(text, "\n") + "\nzz: 1\n"
			objects, err := objects(manifest{path: "w.yaml", data: []byte(text)})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			_, _, err = decode[corev1.Service](objects[0])
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("no error but %v", err)
			}
			if e.Field != tt.field || tt.msg != "" && e.Msg != tt.msg {
				t.Errorf("%s: %s, want %s: %s", e.Field, e.Msg, tt.field, tt.msg)
			}
			if line := strings.Split(text, "\n")[e.Line-1]; !strings.Contains(line, tt.bad) {
				t.Errorf("line %d is %q, want that of %q", e.Line, line, tt.bad)
			}
		})
	}
	t.Run("good", func(t *testing.T) {
		objects, err := objects(manifest{path: "w.yaml", data: []byte(wholeService)})
		if err != nil {
			t.Fatal(err)
		}
		v, unknown, err := decode[corev1.Service](objects[0])
		if err != nil || len(unknown) > 0 || v.Spec.Ports[1].TargetPort.IntValue() != 8081 {
			t.Errorf("%v %v %v", v, unknown, err)
		}
	})
}
