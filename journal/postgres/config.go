package postgres

import (
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
)

// Config says where the store is. Only DSN is required.
type Config struct {
	// CallLimit is how long the server may take to answer. A connection that is silent for longer is given up, and a
	// commit that waited on it is undecided. Defaults to 5 seconds.
	CallLimit time.Duration

	// Clock measures how long transactions of activities are open. Defaults to the real clock.
	Clock clockwork.Clock

	// DSN is the connection string: "postgres://user@host/database" or a list of key=value pairs.
	DSN string

	// GuestTxLimit is how long a transaction of an activity may be open before it is rolled back. Defaults to 5
	// seconds.
	GuestTxLimit time.Duration

	// Logger receives messages for operators. Defaults to slog.Default.
	Logger *slog.Logger

	// MaxConns bounds the connections for Cruster's own statements, apart from commits, which have two of their own.
	// Defaults to 8.
	MaxConns int32

	// MaxGuestConns bounds the connections for SQL of activities; an activity that finds none free waits. They are
	// apart from MaxConns so that guests cannot keep the journal from committing. Defaults to 16.
	MaxGuestConns int32

	// MigrateWait is how long Open tries to get the locks that a change of the schema needs, while
	// other hosts are at work. Defaults to 1 minute.
	MigrateWait time.Duration

	// Schema holds Cruster's tables: lower-case letters, digits and single underscores, at most 24 bytes. Defaults to
	// "cruster".
	Schema string
}

const (
	defaultCallLimit     = 5 * time.Second
	defaultSchema        = "cruster"
	defaultGuestTxLimit  = 5 * time.Second
	defaultMaxConns      = 8
	defaultMigrateWait   = time.Minute
	defaultMaxGuestConns = 16
	maxSchema            = 24
)

var schemaPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// withDefaults fills the gaps of c and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.DSN == "" {
		return c, abi.Errorf(abi.CodeBadConfig, "the Postgres store needs a connection string")
	}
	if c.CallLimit < 0 || c.GuestTxLimit < 0 || c.MaxConns < 0 || c.MaxGuestConns < 0 || c.MigrateWait < 0 {
		return c, abi.Errorf(abi.CodeBadConfig, "limits of the Postgres store cannot be negative")
	}
	if c.CallLimit == 0 {
		c.CallLimit = defaultCallLimit
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.GuestTxLimit == 0 {
		c.GuestTxLimit = defaultGuestTxLimit
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.MaxConns == 0 {
		c.MaxConns = defaultMaxConns
	}
	if c.MaxGuestConns == 0 {
		c.MaxGuestConns = defaultMaxGuestConns
	}
	if c.MigrateWait == 0 {
		c.MigrateWait = defaultMigrateWait
	}
	if c.Schema == "" {
		c.Schema = defaultSchema
	}
	// The double underscore separates the schema from the namespace in names of guest schemas and roles: see guestName.
	if !schemaPattern.MatchString(c.Schema) || len(c.Schema) > maxSchema ||
		strings.Contains(c.Schema, "__") || strings.HasSuffix(c.Schema, "_") || strings.HasPrefix(c.Schema, "pg_") {
		return c, abi.Errorf(abi.CodeBadConfig, "%q cannot be the name of Cruster's schema", c.Schema).
			WithHint(
				"Use lower-case letters, digits and single underscores, at most %d bytes, not beginning with pg_.",
				maxSchema,
			)
	}
	return c, nil
}
