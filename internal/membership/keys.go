package membership

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

// keyID is the first four bytes of a key's SHA-256. It tells a datagram of
// another cluster from a forged one, and costs a comparison instead of a hash.
type keyID [4]byte

func idOf(key []byte) keyID {
	sum := sha256.Sum256(key)
	return keyID(sum[:])
}

// signer makes the codes of one key. It is for one goroutine: it keeps the
// hash's state between uses instead of allocating it anew.
type signer struct {
	id  keyID
	mac hash.Hash
}

func newSigner(key []byte) *signer {
	return &signer{id: idOf(key), mac: hmac.New(sha256.New, key)}
}

// sum appends the code of b to dst.
func (s *signer) sum(dst, b []byte) []byte {
	s.mac.Reset()
	s.mac.Write(b)
	return s.mac.Sum(dst)
}

// verifier checks datagrams against the keys that are accepted. It is for one
// goroutine. Without keys it accepts what is not authenticated, and that only.
type verifier struct {
	keys []*signer
	tag  [tagLen]byte
}

func newVerifier(keys ...[]byte) *verifier {
	v := &verifier{}
	for _, k := range keys {
		v.keys = append(v.keys, newSigner(k))
	}
	return v
}

func (v *verifier) check(d *datagram) Drop {
	switch {
	case d.authentic != (len(v.keys) > 0):
		return Unauthenticated
	case !d.authentic:
		return NotDropped
	}
	drop := ForeignKey
	for _, k := range v.keys {
		if k.id != d.keyID {
			continue
		}
		if hmac.Equal(k.sum(v.tag[:0], d.signed), d.tag) {
			return NotDropped
		}
		drop = BadMAC
	}
	return drop
}
