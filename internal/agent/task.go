package agent

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Task is a long-running part of the agent. Run returns when ctx is done, or
// earlier with what went wrong.
type Task interface {
	Run(ctx context.Context) error
}

// named is a Task with the name that its errors carry.
type named struct {
	name string
	task Task
}

// runAll runs every task until ctx is done or one of them fails, and returns
// the first failure. A task that returns early without an error is a failure
// too: nothing in an agent ends by itself.
func runAll(ctx context.Context, tasks []named) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, t := range tasks {
		g.Go(func() error {
			err := t.task.Run(gctx)
			switch {
			case gctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
				return nil
			case err == nil:
				return fmt.Errorf("%s: ended by itself", t.name)
			}
			return fmt.Errorf("%s: %w", t.name, err)
		})
	}
	return g.Wait()
}
