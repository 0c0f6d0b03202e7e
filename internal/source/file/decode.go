package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"

	sjson "sigs.k8s.io/json"
)

// decode decodes the object into a new T. unknown are the paths of the fields
// that T doesn't have.
func decode[T any](o *object) (v *T, unknown []string, err error) {
	e := encoder{left: math.MaxInt, aliases: o.aliases}
	if err := e.value(o.node, o.node.Line); err != nil {
		return nil, nil, lift(err, *o.errorAt(0, "", ""))
	}
	v = new(T)
	strict, err := sjson.UnmarshalStrict(e.buf, v, sjson.DisallowUnknownFields)
	if err != nil {
		return nil, nil, locate[T](o, math.MaxInt-e.left)
	}
	for _, err := range strict {
		var fe sjson.FieldError
		if errors.As(err, &fe) {
			unknown = append(unknown, fe.FieldPath())
		}
	}
	slices.Sort(unknown)
	return v, unknown, nil
}

// locate finds the value of an object of n values that can't be decoded into a
// T. The decoder doesn't say: its paths lack list indexes, and types that decode
// themselves report no place at all. But the object cut off after its first k
// values decodes for all k up to the bad one, and for none from there on.
func locate[T any](o *object, n int) error {
	unbounded := math.MaxInt
	try := func(k int) (encoder, error) {
		e := encoder{left: k, aliases: &unbounded}
		if err := e.value(o.node, o.node.Line); err != nil {
			return e, err
		}
		return e, sjson.UnmarshalCaseSensitivePreserveInts(e.buf, new(T))
	}
	k := sort.Search(n, func(k int) bool {
		_, err := try(k)
		return err != nil
	})
	e, err := try(k)
	return o.errorAt(e.lastLine, e.lastPath, wrongType(e, err))
}

// wrongType says why the last value of e can't be decoded.
func wrongType(e encoder, err error) string {
	var te *json.UnmarshalTypeError
	if !errors.As(err, &te) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	have := describe(e.last)
	switch t := te.Type; t.Kind() {
	case reflect.String:
		if strings.HasPrefix(have, "a ") {
			return "want a string, have " + have
		}
		return fmt.Sprintf("want a string, have %s: write %q", have, e.last.Value)
	case reflect.Bool:
		return "want true or false, have " + have
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("want an integer of %d bits, have %s", t.Bits(), have)
	case reflect.Float32, reflect.Float64:
		return "want a number, have " + have
	case reflect.Slice:
		return "want a list, have " + have
	}
	return "want a mapping, have " + have
}
