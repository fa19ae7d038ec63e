package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a private Postgres in a temporary folder, on a Unix socket.
type server struct {
	dir  string
	dsn  string
	proc *os.Process
	gone chan struct{} // closed when the process has ended
}

// startLimit is far longer than a slow machine takes.
const startLimit = 10 * time.Minute

// start makes a database cluster and runs a server on it.
func start() (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: the path of a Unix socket is short, at most 107 bytes.
	dir, err := os.MkdirTemp("", "cruster-pg-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, gone: make(chan struct{})}
	if as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	if err == nil {
		err = s.run(bin, as)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) run(bin string, as *syscall.Credential) error {
	data := filepath.Join(s.dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	logFile, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir,
		"-c", "listen_addresses=", "-c", "max_connections=400", "-c", "fsync=off",
		"-c", "max_locks_per_transaction=256", "-c", "log_min_messages=warning")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, logFile, logFile
	// The server ends with this process, even if it is killed. The kernel ties that to the thread that started the
	// server, so the thread is kept until the server has ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGINT}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(s.gone)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.proc = cmd.Process
	s.dsn = "postgres://postgres@/postgres?host=" + url.QueryEscape(s.dir)
	return s.await()
}

// await waits until the server accepts connections.
func (s *server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.dsn)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-retry.C:
		case <-s.gone:
			out, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("postgres ended at once:\n%s", out)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		}
	}
}

func (s *server) stop() {
	if s.proc != nil {
		_ = s.proc.Signal(syscall.SIGINT) // fast shutdown
		select {
		case <-s.gone:
		case <-time.After(startLimit):
			_ = s.proc.Kill()
		}
	}
	_ = os.RemoveAll(s.dir)
}

// binaries finds the folder with postgres and initdb.
func binaries() (string, error) {
	var candidates []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, filepath.Dir(resolved))
		}
	}
	packaged, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(packaged) // newest first
	for _, dir := range append(candidates, packaged...) {
		_, noServer := os.Stat(filepath.Join(dir, "postgres"))
		_, noInit := os.Stat(filepath.Join(dir, "initdb"))
		if noServer == nil && noInit == nil {
			return dir, nil
		}
	}
	return "", errors.New("no Postgres binaries on this machine; install them with: scripts/install.sh postgres")
}

// unprivileged is the user that runs the server: Postgres refuses to run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("running as root needs the user that the postgresql package makes: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
