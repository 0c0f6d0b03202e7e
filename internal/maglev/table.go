package maglev

// Table is a filled table with the endpoints that it was filled for, sorted by
// key. Slots hold positions in Endpoints, plus one; 0 is a slot without
// endpoint.
type Table struct {
	Endpoints []Endpoint
	Slots     []uint16
}

// edge is the lowest upper half of a hash that [SlotOf] maps to slot i.
func edge(i, size int) uint64 {
	return (uint64(i)<<32 + uint64(size) - 1) / uint64(size)
}

// lookup returns the slot's value for the flows whose hash has the upper half
// x, and the end of the interval of x for which that holds.
func lookup(slots []uint16, x uint64) (index uint16, end uint64) {
	if len(slots) == 0 {
		return 0, 1 << 32
	}
	i := SlotOf(x<<32, len(slots))
	return slots[i], edge(i+1, len(slots))
}

// renumber returns what the indexes of one list of endpoints are in another
// one; 0 for those that are not in it. Both are sorted by key.
func renumber(from, to []Endpoint) []uint16 {
	to = to[:min(len(to), MaxEndpoints)]
	index := make([]uint16, len(from)+1)
	j := 0
	for i, e := range from {
		for j < len(to) && to[j].Key.Compare(e.Key) < 0 {
			j++
		}
		if j < len(to) && to[j].Key == e.Key {
			index[i+1] = uint16(j + 1)
		}
	}
	return index
}
