package main

import "context"

// W13 is W10 of parents: each waits for a child of its own that sleeps for long.
func runW13(ctx context.Context, m *meter) error { return runDense(ctx, m, "Parent", "parent") }
