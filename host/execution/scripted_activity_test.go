package execution

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/journal"
)

// Perform implements Activities: it waits until the test says what becomes of the attempt.
func (f *fixture) Perform(ctx context.Context, task activity.Task) activity.Report {
	if !task.Begin(ctx) {
		return nil
	}
	number, verdict := task.Op.Number, make(chan string)
	whom := fmt.Sprintf("activity %d", number)
	f.note(whom, "%s begins, attempt %d", task.Body.Name, task.Failed+1)
	f.mu.Lock()
	f.tasks[number] = verdict
	f.mu.Unlock()
	givenUp := ctx.Done()
	for {
		select {
		case <-givenUp:
			f.note(whom, "given up")
			return nil
		case <-f.life.Context().Done():
			return nil
		case v := <-verdict:
			kind, text, _ := strings.Cut(v, " ")
			switch kind {
			case "linger":
				givenUp = nil
				f.mu.Lock()
				f.late = verdict
				f.mu.Unlock()
			case "ok":
				return activity.Done{Outcome: abi.Outcome{Value: abi.MustMarshal(text)}, Attempts: task.Failed + 1}
			case "fail":
				return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: text, Retryable: true}}
			case "fail-for-good":
				return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: text}}
			case "stuck":
				return activity.Stuck{Err: abi.Errorf(abi.CodeModuleInit, "the module failed in _initialize")}
			case "reserve":
				if report := f.transact(ctx, whom, task, text, verdict); report != nil {
					return report
				}
			}
		}
	}
}

// transact is an attempt with SQL: it reserves its place, and commits or rolls back when the test says so.
func (f *fixture) transact(
	ctx context.Context, whom string, task activity.Task, value string, verdict <-chan string,
) activity.Report {
	entry, wanted := task.Reserve(ctx, abi.MustMarshal(value), task.Failed+1)
	if !wanted {
		f.note(whom, "not waited for")
		return activity.Dropped{}
	}
	f.note(whom, "reserves %d", entry.Seq)
	var decision string
	select {
	case decision = <-verdict:
	case <-f.life.Context().Done():
		return nil // it dies with the host
	}
	if decision == "rollback" {
		task.Void(entry.Seq)
		return nil
	}
	delivered, err := f.commitEntry(task, entry, decision)
	switch {
	case decision == "commit-unheard":
		require.NoError(f.t, err)
		<-ctx.Done()
		return nil
	case err == nil:
		return activity.Committed{Entry: entry, Delivered: delivered}
	case f.life.Context().Err() != nil:
		return nil
	default:
		f.note(whom, "is rolled back: %v", err)
		task.Void(entry.Seq)
		return nil
	}
}

// commitEntry commits the entry of an attempt with SQL as host/activity does: together with its turn if the attempt is
// to be ahead, else alone. If the answer is lost, it finds out.
func (f *fixture) commitEntry(task activity.Task, entry journal.Entry, how string) (delivered bool, err error) {
	commit := func(w journal.Write) error {
		f.die(how, "die-before-commit")
		f.mu.Lock()
		meanwhile := f.committing
		f.committing = nil
		f.mu.Unlock()
		if meanwhile != nil {
			go meanwhile()
			time.Sleep(time.Nanosecond) // until nothing else moves
		}
		_, err := f.commits.Commit(w)
		f.die(how, "die-after-commit")
		return err
	}
	alone := func(en journal.Entry) error {
		return commit(journal.Write{
			ID: task.Row.ID, Run: task.Row.Run, Chain: task.Row.Chain, Entries: []journal.Entry{en},
		})
	}
	if how != "commit" && how != "commit-unheard" {
		delivered, err = task.Deliver(entry, commit)
	}
	if !delivered && err == nil {
		err = alone(entry)
	}
	life := f.life.Context()
	for isUndecided(err) && life.Err() == nil {
		found, _, ferr := f.store.Entries(context.Background(), task.Row.RunKey(), entry.Seq-1, journal.PageLimit{
			Entries: 1,
		})
		if ferr == nil && len(found) == 1 && found[0].Seq == entry.Seq {
			if err = nil; found[0].Kind != journal.Delivery {
				err = journal.ErrConflict
			}
			break
		}
		if err = alone(journal.Entry{Kind: journal.Void, Seq: entry.Seq, At: entry.At, Op: entry.Op}); err == nil {
			err = journal.ErrConflict
		}
	}
	return delivered, err
}

// die ends the goroutine with the host, if it is to.
func (f *fixture) die(how, here string) {
	if how == here {
		<-f.life.Context().Done()
		runtime.Goexit()
	}
}

// decide ends an attempt, or takes it a step further.
func (f *fixture) decide(number uint32, verdict string) {
	f.mu.Lock()
	task := f.tasks[number]
	f.mu.Unlock()
	require.NotNil(f.t, task, "activity %d does not run", number)
	task <- verdict
}
