package lab

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStory(t *testing.T) {
	var b bytes.Buffer
	c := checks{tell: newNarrator(&b, false)}
	c.tell.Step("a picture\n of lines")
	c.count("VIPs moved", 2, 2)
	c.atMost("silence", 300*time.Millisecond, 301*time.Millisecond)
	c.table(&b)
	if c.ok() {
		t.Error("one check did not hold")
	}
	want := `  0.000s • a picture
            of lines
  0.000s ✓ VIPs moved: 2
  0.000s ✗ silence: got 301 ms, wanted at most 300 ms
      check       wanted          got
  ok  VIPs moved  2               2
  NOT silence     at most 300 ms  301 ms
`
	got := regexp.MustCompile(`\d\.\d{3}s`).ReplaceAllString(b.String(), "0.000s")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestQuietTellsFailures(t *testing.T) {
	var b bytes.Buffer
	c := checks{tell: newNarrator(&b, true)}
	c.tell.Step("x")
	c.tell.Info("x")
	c.count("fine", 1, 1)
	c.count("broken", 1, 2)
	if got := b.String(); !regexp.MustCompile(`^ *\d\.\d{3}s ✗ broken: got 2, wanted 1\n$`).MatchString(got) {
		t.Errorf("told %q", got)
	}
}
