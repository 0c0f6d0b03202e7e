// Command fairlead is the whole product: the agent on each node, and the tools
// for the people who run it.
package main

import (
	"os"

	"github.com/fairlead-lb/fairlead/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Env{Stdout: os.Stdout, Stderr: os.Stderr}))
}
