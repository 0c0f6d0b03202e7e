package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxFileSize is the size of the largest file that is read, in bytes.
const maxFileSize = 16 << 20

// maxLooks is how often a directory that keeps changing is read again.
const maxLooks = 5

// manifest is a file's name with the directory, and its content.
type manifest struct {
	path string
	data []byte
}

// stamp is what tells one version of a file from another without reading it.
type stamp struct {
	name  string
	inode uint64
	size  int64
	// ctime rather than mtime: it can't be set back, and a chmod changes it.
	ctime syscall.Timespec
}

// isManifest reports whether a file of that name is read: hidden files and what
// editors leave behind (x.yaml~, .x.yaml.swp) are not.
func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// readDir reads the manifests of a directory, sorted by name. It reads again
// when the directory changed meanwhile, so that the files are from one moment
// even when a symbolic link swaps them all.
func readDir(dir string) ([]manifest, error) {
	for range maxLooks - 1 {
		before, err := look(dir)
		if err != nil {
			return nil, err
		}
		files, err := readAll(dir, before)
		if after, lookErr := look(dir); lookErr == nil && slices.Equal(before, after) {
			return files, err
		}
	}
	// It changes all the time: more changes will be reported and read.
	last, err := look(dir)
	if err != nil {
		return nil, err
	}
	return readAll(dir, last)
}

// look lists the manifests of a directory. Sub-directories are passed over.
func look(dir string) ([]stamp, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &Error{File: dir, Msg: reason(err)}
	}
	var stamps []stamp
	for _, e := range entries {
		if !isManifest(e.Name()) {
			continue
		}
		s := stamp{name: e.Name()}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		switch {
		case err != nil: // reading it will say why
		case info.IsDir():
			continue
		default:
			s.size = info.Size()
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				s.inode, s.ctime = st.Ino, st.Ctim
			}
		}
		stamps = append(stamps, s)
	}
	return stamps, nil
}

func readAll(dir string, stamps []stamp) ([]manifest, error) {
	var files []manifest
	for _, s := range stamps {
		path := filepath.Join(dir, s.name)
		data, err := readFile(path)
		if err != nil {
			return nil, &Error{File: path, Msg: reason(err)}
		}
		files = append(files, manifest{path, data})
	}
	return files, nil
}

// readFile reads a regular file of bounded size.
func readFile(path string) ([]byte, error) {
	// Without O_NONBLOCK the opening of a named pipe would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("larger than %d MiB", maxFileSize>>20)
	}
	return data, nil
}

// reason is err without the path, which the caller says.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
