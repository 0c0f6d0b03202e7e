package cli

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker (-X) for releases.
var version string

type versionCmd struct{}

// Run prints the version, and what the Go command recorded of the build.
func (versionCmd) Run(env Env) error {
	v, extra := version, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		extra = " " + info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				extra += " " + s.Value
			}
		}
	}
	_, err := fmt.Fprintf(env.Stdout, "fairlead %s%s\n", v, extra)
	return err
}
