package packet

import "testing"

// FuzzParse: no input panics, and what is accepted means the same after it was
// built anew.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"ffffffffffff 020000000066 0806 0001 0800 06 04 0001 020000000066 0a4d00c8 000000000000 0a4d00c8",
		"ffffffffffff 020000000100 8100 6007 " + arpBody,
		ndpEth + ndpAsk + ndpMsg + ndpLink,
		ndpEth + ndpAsk + "8700154000000000 20010db8007700000000000000000200 0100020000000100",
	} {
		f.Add(unhex(f, s))
	}
	f.Add(Unsolicited(own, vip6).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, why := Parse(b)
		if int(why) >= Refusals {
			t.Fatalf("refusal %d", why)
		}
		_ = frame.String()
		if why != Accepted {
			return
		}
		again, why := Parse(frame.Bytes())
		if why != Accepted || again != frame {
			t.Fatalf("%s after\n%v\nbuilt anew:\n%v", why, frame, again)
		}
	})
}
