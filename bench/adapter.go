package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// adapter is a peer: a program of bench/peers that runs operations in the way the peer's users do. Requests and answers
// are lines of JSON on its standard input and output; bench/peers/internal/adapter is the other side.
type adapter struct {
	cmd   *exec.Cmd
	hello hello
	in    io.WriteCloser
	log   *os.File
	done  chan struct{} // closed when the answers have ended

	mu      sync.Mutex
	next    int                 // guarded by mu, like waiting and ended
	waiting map[int]chan answer // by number
	ended   error
}

var _ target = (*adapter)(nil)

// hello is the first line of an adapter.
type hello struct {
	Version string `json:"version"`
	// PIDs are processes that the adapter has started and that belong to the system.
	PIDs []int `json:"pids"`
}

type call struct {
	ID   int    `json:"id"`
	Verb string `json:"verb"` // start, wait or execute
	operation
}

type answer struct {
	ID    int    `json:"id"`
	Value int64  `json:"value"`
	Nanos int64  `json:"nanos"`
	Error string `json:"error"`
}

func openAdapter(ctx context.Context, program, dir, dsn string) (*adapter, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	a := &adapter{
		cmd:     exec.CommandContext(ctx, program, dir, dsn),
		log:     log,
		waiting: map[int]chan answer{},
		done:    make(chan struct{}),
	}
	a.cmd.Stderr = log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(syscall.SIGTERM) }
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; make bench-peers builds it", err), log.Close())
	}
	answers := json.NewDecoder(bufio.NewReader(out))
	if err := answers.Decode(&a.hello); err != nil {
		text, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%s did not start: %w\n%s", program, err, text), a.cmd.Wait(), log.Close())
	}
	go a.read(answers)
	return a, nil
}

// read hands answers to their callers until there are no more.
func (a *adapter) read(answers *json.Decoder) {
	defer close(a.done)
	for {
		var got answer
		err := answers.Decode(&got)
		a.mu.Lock()
		if err != nil {
			a.ended = fmt.Errorf("the adapter ended, see %s: %w", a.log.Name(), err)
			for _, waiter := range a.waiting {
				close(waiter)
			}
			a.waiting = nil
			a.mu.Unlock()
			return
		}
		waiter := a.waiting[got.ID]
		delete(a.waiting, got.ID)
		a.mu.Unlock()
		if waiter != nil {
			waiter <- got
		}
	}
}

func (a *adapter) do(ctx context.Context, verb string, op operation) (answer, error) {
	waiter := make(chan answer, 1)
	a.mu.Lock()
	if a.ended != nil {
		a.mu.Unlock()
		return answer{}, a.ended
	}
	a.next++
	a.waiting[a.next] = waiter
	line, err := json.Marshal(call{ID: a.next, Verb: verb, operation: op})
	if err == nil {
		_, err = a.in.Write(append(line, '\n'))
	}
	a.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	select {
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case got, ok := <-waiter:
		if !ok {
			return answer{}, a.ended
		}
		if got.Error != "" {
			return answer{}, errors.New(got.Error)
		}
		return got, nil
	}
}

func (a *adapter) start(ctx context.Context, op operation) error {
	_, err := a.do(ctx, "start", op)
	return err
}

func (a *adapter) wait(ctx context.Context, op operation) (int64, error) {
	got, err := a.do(ctx, "wait", op)
	return got.Value, err
}

func (a *adapter) execute(ctx context.Context, op operation) (int64, time.Duration, error) {
	got, err := a.do(ctx, "execute", op)
	return got.Value, time.Duration(got.Nanos), err
}

func (a *adapter) version() string { return a.hello.Version }

func (a *adapter) pids() []int { return append([]int{a.cmd.Process.Pid}, a.hello.PIDs...) }

func (a *adapter) commits(context.Context) (float64, bool, error) { return 0, false, nil }

// close ends the adapter by the end of its input, and waits for it.
func (a *adapter) close() error {
	err := a.in.Close()
	<-a.done
	_ = a.cmd.Wait() // it has nothing to say that counts any more
	return errors.Join(err, a.log.Close())
}
