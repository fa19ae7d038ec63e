package host

import (
	"errors"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// Config is everything an [Engine] can be told. Only Store is required.
type Config struct {
	// ActivityFuel bounds the computation of an activity attempt, in units of fuel; 0 means without
	// a limit.
	ActivityFuel int64
	// ActivityTimeout bounds an attempt of an activity that names no timeout of its own. Defaults to one minute.
	ActivityTimeout time.Duration
	// Clock tells the time and wakes timers; workflows see the journal's time. It may be set, and
	// the machine may be suspended: see host/timer. Limits of guests are measured by it too, as far
	// as the host ran: see host/timelimit. Defaults to the real one.
	Clock clockwork.Clock
	// DrainTimeout is how long Stop waits for running activities. Defaults to ten seconds.
	DrainTimeout time.Duration
	// Egress configures HTTP calls of activities.
	Egress egress.Config
	// EntityIdleTime is how long an entity without calls stays in memory, if its type does not say. Defaults to one
	// minute.
	EntityIdleTime time.Duration
	// HibernateAfter is how many entries a journal has gained at least when the state of a guest that gives up its
	// instance is saved, so that it need not be replayed. Negative says never. Defaults to 64.
	HibernateAfter int
	// IdleTimeout is how long an instance stays warm without work. Defaults to 30 seconds.
	IdleTimeout time.Duration
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxActivities bounds the attempts that run at the same time. Defaults to 128.
	MaxActivities int
	// MaxExecutions bounds the executions in memory; starts beyond it are refused with a delay after which to try
	// again. Defaults to 20,000.
	MaxExecutions int
	// Memory bounds the memory of instances, replays, uploads and the ops that executions wait for,
	// in bytes; see host/budget. A quarter is for the ops. Defaults to half of the machine's
	// memory.
	Memory int64
	// Name tells this host from others in the store. Defaults to the name of the machine and the process id.
	Name string
	// Registerer takes the engine's metrics. Defaults to none.
	Registerer prometheus.Registerer
	// RequestWindow is how long a request that is repeated under the same id is known again.
	// Defaults to a day.
	RequestWindow time.Duration
	// Retention is how long finished executions are kept; 0 means for ever.
	Retention time.Duration
	// Runtime, if set, is used instead of one made from Wasm, so that several engines of a process
	// share compiled modules. The engine does not close it, and drops no module from it.
	Runtime *wasm.Runtime
	// ShardGroups are the groups of entities that this host serves, besides the default one.
	ShardGroups []string
	// Store keeps everything durable. The engine does not close it.
	Store journal.Store
	// TurnFuel bounds the computation of a workflow between two durable calls, in units of fuel; 0
	// means without a limit. A workflow that needs more is paused.
	TurnFuel int64
	// TurnTimeout bounds the computation of a workflow between two durable calls. Defaults to ten seconds.
	TurnTimeout time.Duration
	// UnderTest has settings for tests of this module. Nil is none.
	UnderTest *undertest.Options
	// Wasm configures the sandbox.
	Wasm wasm.Config
}

// withDefaults fills in defaults and refuses invalid settings.
func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		return c, abi.Errorf(abi.CodeBadConfig, "host: Config.Store is not set")
	}
	if err := errors.Join(
		orDefault("ActivityFuel", &c.ActivityFuel, 0),
		orDefault("ActivityTimeout", &c.ActivityTimeout, time.Minute),
		orDefault("DrainTimeout", &c.DrainTimeout, 10*time.Second),
		orDefault("EntityIdleTime", &c.EntityIdleTime, time.Minute),
		orDefault("IdleTimeout", &c.IdleTimeout, 30*time.Second),
		orDefault("MaxActivities", &c.MaxActivities, 128),
		orDefault("MaxExecutions", &c.MaxExecutions, 20_000),
		orDefault("Memory", &c.Memory, budget.OfMachine()),
		orDefault("RequestWindow", &c.RequestWindow, 24*time.Hour),
		orDefault("Retention", &c.Retention, 0),
		orDefault("TurnFuel", &c.TurnFuel, 0),
		orDefault("TurnTimeout", &c.TurnTimeout, 10*time.Second),
	); err != nil {
		return c, err
	}
	if c.HibernateAfter == 0 {
		c.HibernateAfter = 64
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Egress.Clock == nil {
		c.Egress.Clock = c.Clock
	}
	if c.Wasm.Clock == nil {
		c.Wasm.Clock = c.Clock
	}
	if c.Wasm.Logger == nil {
		c.Wasm.Logger = c.Logger
	}
	if c.UnderTest == nil {
		c.UnderTest = &undertest.Options{}
	}
	if c.Name == "" {
		c.Name = defaultName()
	}
	return c, nil
}

// orDefault gives a field that is 0 its default, and refuses a negative one.
func orDefault[N int | int64 | time.Duration](name string, field *N, def N) error {
	if *field < 0 {
		return abi.Errorf(abi.CodeBadConfig, "host: Config.%s is negative: %v", name, *field)
	}
	if *field == 0 {
		*field = def
	}
	return nil
}

func defaultName() string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "host"
	}
	return machine + "-" + strconv.Itoa(os.Getpid())
}
