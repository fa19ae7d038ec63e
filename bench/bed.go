package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A bed carries the measured systems: a folder on a disk and, if one is needed, a Postgres server with its data on
// the same disk, with fsync on.
type bed struct {
	databases []string
	dir       string
	dsn       string
	own       bool // the server was started here
	stores    int
}

// newBed makes a bed in a folder. It uses the Postgres server that dsn names, or starts one.
func newBed(dir string, withPostgres bool, dsn string) (*bed, error) {
	dir, err := os.MkdirTemp(dir, "cruster-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	b := &bed{dir: dir, dsn: dsn}
	if !withPostgres || dsn != "" {
		return b, nil
	}
	b.own = true
	data := filepath.Join(dir, "postgres")
	if _, err := script("scripts/postgres.sh", "start", data, strconv.Itoa(os.Getpid())); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.dsn, err = script("scripts/postgres.sh", "dsn", data)
	return b, err
}

// script runs a script of the repository, from wherever the command runs.
func script(name string, args ...string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	var out, complaint bytes.Buffer
	cmd := exec.Command(filepath.Join(root, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, complaint.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

// root is the top of the source tree: the folder above with a Makefile and go.mod.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "scripts", "postgres.sh")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

func (b *bed) close() error {
	var err error
	if b.own {
		_, err = script("scripts/postgres.sh", "stop", filepath.Join(b.dir, "postgres"))
	} else if len(b.databases) > 0 {
		err = b.query(context.Background(), b.drop)
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// drop removes databases from a server that others use, and the roles that hosts have made for their guests.
func (b *bed) drop(ctx context.Context, conn *pgx.Conn) error {
	var errs []error
	for _, name := range b.databases {
		for _, statement := range []string{
			"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "DROP ROLE IF EXISTS " + name + "__default",
		} {
			_, err := conn.Exec(ctx, statement)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// store makes an empty store: a folder, and a database of its own on Postgres.
func (b *bed) store(ctx context.Context, kind string) (dir, dsn string, err error) {
	b.stores++
	dir = filepath.Join(b.dir, fmt.Sprintf("store-%d", b.stores))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", "", err
	}
	if kind != postgres {
		return dir, "", nil
	}
	name := fmt.Sprintf("bench_%d_%d", os.Getpid(), b.stores)
	b.databases = append(b.databases, name)
	err = b.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		// Dirty pages of others are not written during a measurement.
		_, err := conn.Exec(ctx, "CHECKPOINT")
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("make a database: %w", err)
	}
	head, tail, _ := strings.Cut(b.dsn, "?")
	head = head[:strings.LastIndex(head, "/")+1] + name
	return dir, head + "?" + tail, nil
}

// lastDatabase is the newest database. A host takes its name for its schema, too: the roles of guests are called
// after it, and all databases share them.
func (b *bed) lastDatabase() string {
	if len(b.databases) == 0 {
		return ""
	}
	return b.databases[len(b.databases)-1]
}

func (b *bed) query(ctx context.Context, use func(context.Context, *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, b.dsn)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, conn), conn.Close(ctx))
}

// flushes counts how often Postgres has flushed its log.
func (b *bed) flushes(ctx context.Context) (n float64, err error) {
	err = b.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		// A session that ends reports its counts; others do it every second.
		return conn.QueryRow(ctx, "SELECT wal_sync FROM pg_stat_wal").Scan(&n)
	})
	return n, err
}

// postmaster is the process of the Postgres server, 0 if it is not ours.
func (b *bed) postmaster() int {
	if !b.own {
		return 0
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}
