package membership

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"
)

func TestVerifier(t *testing.T) {
	ours, old, foreign := []byte("ours"), []byte("the one before"), []byte("another cluster's")
	plain := message{node: "n1", parts: 1}
	signed := func(key []byte) []byte {
		s := newSigner(key)
		m := message{node: "n1", parts: 1, authentic: true, keyID: s.id}
		b := m.append(nil)
		return s.sum(b, b)
	}
	tampered := signed(ours)
	tampered[offSequence]++
	for _, c := range []struct {
		name string
		keys [][]byte
		b    []byte
		want Drop
	}{
		{"ours", [][]byte{ours}, signed(ours), NotDropped},
		{"ours again, after another use", [][]byte{ours}, signed(ours), NotDropped},
		{"the one before, accepted", [][]byte{ours, old}, signed(old), NotDropped},
		{"the one before, given up", [][]byte{ours}, signed(old), ForeignKey},
		{"foreign", [][]byte{ours, old}, signed(foreign), ForeignKey},
		{"tampered", [][]byte{ours, old}, tampered, BadMAC},
		{"they have none", [][]byte{ours}, plain.append(nil), Unauthenticated},
		{"we have none", nil, signed(ours), Unauthenticated},
		{"nobody has one", nil, plain.append(nil), NotDropped},
	} {
		d, drop := parse(c.b)
		if drop != NotDropped {
			t.Fatalf("%s: parse: %s", c.name, drop)
		}
		if got := newVerifier(c.keys...).check(&d); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The re-used hash gives what one made for the purpose gives.
func TestSignerAgreesWithFreshHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "key")
		s := newSigner(key)
		for range 3 {
			b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			h := hmac.New(sha256.New, key)
			h.Write(b)
			if got, want := s.sum(nil, b), h.Sum(nil); !hmac.Equal(got, want) {
				t.Fatalf("%x, want %x", got, want)
			}
		}
	})
}
