// Command warm compiles modules into a compilation cache, so that tests find them there: under the race detector the
// compiler is ten times slower.
//
//	go run ./scripts/warm CACHE_FOLDER FILE.wasm…
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/host/wasm"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: warm CACHE_FOLDER FILE.wasm…")
		os.Exit(2)
	}
	if err := warm(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "warm:", err)
		os.Exit(1)
	}
}

func warm(ctx context.Context, cache string, files []string) (err error) {
	runtime, err := wasm.New(ctx, wasm.Config{CacheDir: cache})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := runtime.Close(ctx); err == nil {
			err = closeErr
		}
	}()
	group, compiling := errgroup.WithContext(ctx)
	for _, file := range files {
		group.Go(func() error {
			binary, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if _, err := runtime.Compile(compiling, binary); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			return nil
		})
	}
	return group.Wait()
}
