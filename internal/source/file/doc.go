// Package file is the source of a host without Kubernetes: a directory of
// ordinary manifests, read whole and swapped whole.
//
// A load goes through these steps, each a file of the package: the directory is
// listed and read (dir.go), each file is parsed into documents that remember
// their lines (yaml.go, json.go) and split into API objects (object.go); an
// object is written as JSON (encode.go) and decoded strictly (decode.go), with
// errors led back to file, line and field; package convert makes the model of
// the objects (load.go). One bad value anywhere fails the whole load, and the
// last good state stays (source.go).
//
// Files should be written elsewhere and then renamed into the directory: a file
// that is written in place is there in part for a while, and what it holds by
// then may well be a good manifest. So a load that takes something away (an
// object, an address, the endpoints of a port; removal.go) is used only after
// the directory has stayed unchanged for a second. One that only adds and
// changes is used at once.
package file
