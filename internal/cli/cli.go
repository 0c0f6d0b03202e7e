package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and what it was to do failed
	exitUsage  = 2 // the command line makes no sense
)

// Env is what a command may touch of the process.
type Env struct {
	Stdout, Stderr io.Writer
}

// errFailed ends a command with exitFailed after it has said why itself.
var errFailed = errors.New("failed")

// grammar is the command line. Every flag is also an environment variable:
// FAIRLEAD_ and the flag's name in capitals with underscores.
type grammar struct {
	Agent   agentCmd   `cmd:"" help:"Run the node daemon: elect owners of service addresses and announce them."`
	Status  statusCmd  `cmd:"" help:"Show what the agent on this node knows: members, VIPs, services."`
	Lab     labCmd     `cmd:"" help:"Build networks in namespaces and run scenarios on them."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// Run runs the command line args and returns the exit code.
func Run(args []string, env Env) int {
	var g grammar
	code := -1
	parser, err := kong.New(&g,
		kong.Name("fairlead"),
		kong.Description("A LoadBalancer for your own hardware: announces service addresses and moves them in a fraction of a second."),
		kong.DefaultEnvars("FAIRLEAD"),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(c int) { code = c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.UsageOnError(),
	)
	if err != nil {
		panic(err) // the grammar above is wrong: cannot happen in a tested build
	}
	kctx, err := parser.Parse(args)
	if code >= 0 { // --help has been printed
		return code
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "fairlead: %v\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	kctx.BindTo(ctx, (*context.Context)(nil))
	kctx.Bind(env)
	switch err := kctx.Run(); {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailed
	default:
		fmt.Fprintf(env.Stderr, "fairlead: %v\n", err)
		return exitFailed
	}
}
