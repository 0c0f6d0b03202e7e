package file

// Result is how a load of the directory went, the reason of the counter
// file_load.
type Result uint8

// The results.
const (
	// OK: every file was read, whether or not anything had changed.
	OK Result = iota
	// Failed: something could not be read or decoded.
	Failed
	numResults
)

func (r Result) String() string {
	if r == OK {
		return "ok"
	}
	return "error"
}
