package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/undertest"
)

// Every setting reaches the engine.
func TestConfigOfTheEngine(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	cfg := Config{
		ActivityFuel:    11,
		ActivityTimeout: 1 * time.Second,
		CacheDir:        "cache",
		CacheSize:       16,
		DrainTimeout:    2 * time.Second,
		GuestMemory:     3,
		HibernateAfter:  13,
		IdleTimeout:     4 * time.Second,
		Logger:          log,
		MaxActivities:   5,
		MaxExecutions:   6,
		MaxModuleSize:   7,
		Memory:          8,
		Name:            "n",
		RequestWindow:   14 * time.Second,
		Retention:       9 * time.Second,
		TurnFuel:        12,
		TurnTimeout:     10 * time.Second,
		UnderTest:       &undertest.Options{EvictAlways: true, MaxEntries: 15},
	}
	engine := cfg.engine()
	require.NotNil(t, engine.Wasm.CompileInSubprocess)
	engine.Wasm.CompileInSubprocess = nil // functions cannot be compared
	require.Equal(t, host.Config{
		ActivityFuel:    11,
		ActivityTimeout: 1 * time.Second,
		DrainTimeout:    2 * time.Second,
		HibernateAfter:  13,
		IdleTimeout:     4 * time.Second,
		Logger:          log,
		MaxActivities:   5,
		MaxExecutions:   6,
		Memory:          8,
		Name:            "n",
		RequestWindow:   14 * time.Second,
		Retention:       9 * time.Second,
		TurnFuel:        12,
		TurnTimeout:     10 * time.Second,
		UnderTest:       &undertest.Options{EvictAlways: true, MaxEntries: 15},
		Wasm:            wasm.Config{CacheDir: "cache", CacheSize: 16, MaxModuleSize: 7, MemoryLimit: 3},
	}, engine)
}

func TestCompiledModulesLieWhereNoOtherUserWrites(t *testing.T) {
	t.Parallel()
	home, err := os.UserCacheDir()
	if err == nil {
		home = filepath.Join(home, "cruster", "compiled")
	}
	for name, tc := range map[string]struct {
		cfg  Config
		want string
	}{
		"Given":    {Config{CacheDir: "here", Store: "sqlite:data"}, "here"},
		"Embedded": {Config{Store: "sqlite:data"}, filepath.Join("data", "compiled")},
		"Postgres": {Config{Store: "postgres://u@h/d"}, home},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.cfg.compiledDir())
		})
	}
}
