package maglev

// MaxEndpoints is how many endpoints a table can tell apart.
const MaxEndpoints = 1<<16 - 1

// SlotsPerEndpoint is how many slots there are at least for each endpoint, as
// long as there is a table size for that.
const SlotsPerEndpoint = 32

// sizes are the sizes that a table can have: the largest primes below powers
// of two. Prime, because then every skip leads to every slot.
var sizes = [...]int{251, 1021, 2039, 4093, 8191, 16381, 32749, 65521, 131071}

// Size is the number of slots of a table for n endpoints: the smallest table
// size that has [SlotsPerEndpoint] slots for each, the largest size if none
// has, and 0 for none.
func Size(n int) int {
	if n <= 0 {
		return 0
	}
	for _, size := range sizes {
		if size/SlotsPerEndpoint >= n {
			return size
		}
	}
	return sizes[len(sizes)-1]
}
