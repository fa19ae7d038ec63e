package host_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
)

// BenchmarkEntities measures operations with 64 callers: on one entity, over many, and reads.
func BenchmarkEntities(b *testing.B) {
	for _, c := range []struct {
		name, operation string
		keys            int
	}{{"hot", "deposit", 1}, {"spread", "deposit", 10_000}, {"reads", "balance", 1}} {
		b.Run(c.name, func(b *testing.B) {
			bank := newBank(b, harness.Store(b, "sqlite"))
			input := harness.Encode(b, 1)
			if c.operation == "balance" {
				input = harness.Encode(b, nothing)
			}
			next := make(chan int, 1024)
			var callers sync.WaitGroup
			for range 64 {
				callers.Go(func() {
					for n := range next {
						_, err := bank.Entities().Call(b.Context(), host.EntityRequest{
							Entity:    "bank/Account/" + strconv.Itoa(n%c.keys),
							Operation: c.operation,
							Input:     input,
							RequestID: strconv.Itoa(n),
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			bank.must("Account/0", "balance", nothing)
			b.ResetTimer()
			for n := range b.N {
				next <- n
			}
			close(next)
			callers.Wait()
			require.False(b, b.Failed())
		})
	}
}
