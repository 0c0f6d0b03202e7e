package file

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const service = `apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 10.77.0.200}]}}
`

func serviceNamed(name string) []byte {
	return []byte(strings.ReplaceAll(service, "NAME", name))
}

// TestEditors: what editors of other systems write means the same.
func TestEditors(t *testing.T) {
	plain := string(serviceNamed("w"))
	want := "service default/w addresses 10.77.0.200\n  port 80/TCP\n"
	utf16 := []byte{0xff, 0xfe}
	for _, r := range plain {
		utf16 = append(utf16, byte(r), 0)
	}
	for name, data := range map[string][]byte{
		"plain":             []byte(plain),
		"byte order mark":   []byte("\ufeff" + plain),
		"crlf":              []byte(strings.ReplaceAll(plain, "\n", "\r\n")),
		"both":              []byte("\ufeff---\r\n" + strings.ReplaceAll(plain, "\n", "\r\n") + "...\r\n"),
		"utf-16":            utf16,
		"no newline at end": []byte(strings.TrimSuffix(plain, "\n")),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "w.yaml"), data)
			if got := outcome(t, dir); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("json with a byte order mark", func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "w.json"), []byte("\ufeff"+`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`))
		if got := outcome(t, dir); got != "node n\n" {
			t.Errorf("got %s", got)
		}
	})
}

// TestUnreadable: what can't be read fails the load and says which file.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		make       func(path string) error
	}{
		{"named pipe", "not a regular file", func(p string) error { return syscall.Mkfifo(p, 0o644) }},
		{"dangling link", "no such file or directory", func(p string) error { return os.Symlink("nowhere", p) }},
		{"link to itself", "too many levels of symbolic links", func(p string) error { return os.Symlink("w.yaml", p) }},
		{"too large", "larger than 16 MiB", func(p string) error {
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(p, maxFileSize+1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "w.yaml")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if got, want := outcome(t, dir), "error: "+path+": "+tt.want+"\n"; got != want {
				t.Errorf("got %s want %s", got, want)
			}
		})
	}
	t.Run("not a directory", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "w.yaml")
		writeFile(t, path, nil)
		if got, want := outcome(t, path), "error: "+path+": not a directory\n"; got != want {
			t.Errorf("got %s want %s", got, want)
		}
	})
}

func TestIsManifest(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a.yml": true, "a.json": true, "a.b.yaml": true,
		"README.md": false, ".a.yaml": false, "a.yaml~": false, ".a.yaml.swp": false,
		"#a.yaml#": false, ".#a.yaml": false, "a.yaml.bak": false, "4913": false, "yaml": false, "..data": false,
	} {
		if got := isManifest(name); got != want {
			t.Errorf("isManifest(%q) = %v", name, got)
		}
	}
}

// TestHostile: files that are made to be slow to read are not.
func TestHostile(t *testing.T) {
	const n = 1 << 18
	for name, text := range map[string]string{
		"deep flow sequences":  strings.Repeat("[", n),
		"deep flow mappings":   strings.Repeat("{a: ", n),
		"deep block sequences": strings.Repeat("- ", n),
		"deep keys":            strings.Repeat("? ", n),
		"one long scalar":      strings.Repeat("a", n),
		"comments":             strings.Repeat("#\n", n),
		"empty documents":      strings.Repeat("---\n", n),
		"aliases":              "a: &a 1\nb: [" + strings.Repeat("*a,", n) + "]",
	} {
		for _, ext := range []string{".yaml", ".json"} {
			begin := time.Now()
			_, _ = load([]manifest{{path: "f" + ext, data: []byte(text)}}) // refused or not
			if took := time.Since(begin); took > deadline {
				t.Errorf("%s%s took %v", name, ext, took)
			}
		}
	}
}
