package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/journal/sqlite"
)

// A StoreProbe is the result of a look at a store.
type StoreProbe struct {
	// Text names the store for people.
	Text string
	// Free is how many bytes its disk has left; negative if that is not known.
	Free int64
	// InUse tells that a host has the embedded store open: no second one can.
	InUse bool
	// Fix is the command to begin with if it cannot be used.
	Fix string
}

// Probe looks whether a host could use the store. It opens no store and changes nothing: a host may be using it.
func (s StoreSpec) Probe(ctx context.Context) (StoreProbe, error) {
	p := StoreProbe{Text: s.String(), Free: -1}
	if s.Dialect == abi.DialectPostgres {
		// Errors of the driver name user, host and database, and never the password.
		cfg, err := pgx.ParseConfig(s.dsn)
		if err != nil {
			return p, fmt.Errorf("%s: %w", p.Text, err)
		}
		p.Fix = fmt.Sprintf(
			"psql -h %s -p %d -U %s %s", terminal.QuoteWord(cfg.Host), cfg.Port, terminal.QuoteWord(cfg.User),
			terminal.QuoteWord(cfg.Database),
		)
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err != nil {
			return p, fmt.Errorf("%s: %w", p.Text, err)
		}
		defer conn.Close(ctx) // it only asked
		p.Text += ", server " + conn.PgConn().ParameterStatus("server_version")
		return p, nil
	}
	p.Fix = "cruster-host dev --data-dir " + terminal.QuoteWord(filepath.Join(os.TempDir(), "cruster-data"))
	folder, err := existing(p.Text)
	if err != nil {
		return p, err
	}
	if err := writable(folder); err != nil {
		return p, err
	}
	p.InUse = sqlite.InUse(p.Text)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err == nil {
		p.Free = int64(disk.Bavail) * int64(disk.Bsize) //nolint:unconvert // the types differ between systems
	}
	return p, nil
}

// existing is the folder, or the nearest above it that is there.
func existing(folder string) (string, error) {
	for {
		info, err := os.Stat(folder)
		switch {
		case err == nil && info.IsDir():
			return folder, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a folder", folder)
		case !os.IsNotExist(err) || folder == filepath.Dir(folder):
			return "", err
		}
		folder = filepath.Dir(folder)
	}
}

// writable tries to make a file, and takes it away again.
func writable(folder string) error {
	file, err := os.CreateTemp(folder, ".cruster-doctor-*")
	if err != nil {
		return err
	}
	file.Close() // nothing was written
	return os.Remove(file.Name())
}
