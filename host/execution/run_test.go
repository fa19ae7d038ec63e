package execution

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestRuns reads testdata/runs. Each file is the life of one execution on a host in virtual time. Commands:
//
//	script [name=W] [digest=D] the actions of the workflow, in a module; one line a turn:
//	                           activity N [retries=K] [input=X] | sleep D | deferred N | interrupted | patched N | call W [POLICY] | send W |
//	                           resolve N | poll E | lock E … | unlock | cancel OP | log TEXT | park | done TEXT | failed TEXT | stop |
//	                           interrupt E REASON | receive N | update | answer ID V | publish stage=V customer=V amount=N progress=N;
//	                           an op whose name ends with ! is given up at once
//	start [again]              starts an execution of workflow w; again: another run of the same name
//	starts held|free           calls cannot start their callees, and then can
//	show-child W, given-up     the callee of a call of W; the given-up callees not worked off
//	start-child W              starts the execution that a call of workflow W comes to
//	sweep                      retention deletes finished executions
//	sweep-before-link          it does so right before a call that found its callee is linked to it
//	advance D                  lets time pass
//	activity OP VERDICT …      ok V | fail V | fail-for-good V | reserve V, then commit (the entry alone), rollback,
//	                           commit-unheard (the host dies before the run is told), commit-ahead (with the turn, if
//	                           that is possible), die-before-commit or die-after-commit (the same, and the host dies)
//	                           | linger (it does not heed that it is given up)
//	late VERDICT               what becomes of the activity that lingers
//	settle N V, reject N V, interrupt V, resume, fail V, move D      requests; their answers are printed
//	update ID NAME V           an update with a request id; its answer is noted. update-validated: the workflow is asked first;
//	                           update-for D ID NAME V: its caller waits for so long
//	published [KEY]            its published values
//	fork KEY AT                forks it; as KEY, the fork can be settled (settle-in KEY N V) and shown (show KEY)
//	store MISHAP …             what becomes of the next commits: ok, fail, lose (the answer), drop (the write)
//	settle-later N V, move-later D     the same, without waiting for the answer
//	start-at-once N            N callers start the same execution
//	loads-fail N               the next N loads of an execution fail
//	when-looked inbox|receipt CMD …     the next time that this was looked for, CMD and all that follows from it happens before the answer
//	while-opening CMD …        the next time that a guest is opened, settle N V or activity OP VERDICT … happens meanwhile
//	while-committing CMD …     the same, while the next transaction of an activity commits; also interrupt V, move D, reserve OP V
//	trap N                     the next N calls of the guest trap
//	slow N                     the next N calls of the guest take 200ms
//	crowd there|gone           many others commit at the same time
//	slots taken|free           other guests compute, as many as may at once
//	panic POINT                the host panics when it passes a fault point next
//	module missing|there
//	evict                      drops the instance, if the run is parked
//	evicting                   a host that drops the instance after every turn
//	serial                     a host that takes no first turn before its start is durable
//	crash [D]                  the host dies, another takes over after a while and recovers due executions
//	drain                      the host is told to stop and gives up what runs; another takes over
//	pending, show
//	writes                     what commits wrote since this was asked last
//
// Every command prints the events until nothing moves any more: of the workflow, in order, and then
// of others.
func TestRuns(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/runs", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			row := rowOf("w", "k")
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				var words []string
				for _, arg := range d.CmdArgs {
					words = append(words, arg.String())
				}
				return f.command(row, d.Cmd, words, d.Input)
			})
		})
	})
}

// command runs one command of a file and returns the events.
func (f *fixture) command(row *journal.Execution, cmd string, words []string, input string) string {
	text := strings.Join(words, " ")
	var out string
	switch cmd {
	case "script":
		f.setScript(words, input)
	case "start":
		if text == "again" {
			row.Run = journal.NewRunID()
		}
		existed, err := f.x.Starter.Start(f.t.Context(), row, nil)
		out = answerText(err)
		if existed {
			out = "it exists\n"
		}
	case "advance":
		d, err := time.ParseDuration(text)
		require.NoError(f.t, err)
		time.Sleep(d)
	case "activity":
		var number uint32
		_, err := fmt.Sscan(words[0], &number)
		require.NoError(f.t, err)
		f.decide(number, strings.Join(words[1:], " "))
	case "late":
		f.mu.Lock()
		late := f.late
		f.mu.Unlock()
		late <- text
	case "sweep":
		n, err := f.store.Sweep(f.t.Context(), f.commits.fences, journal.Never, 100)
		require.NoError(f.t, err)
		out = fmt.Sprintf("%d deleted\n", n)
	case "start-over":
		out = f.startOver(f.named(row, text))
	case "start-over-before-link":
		f.mu.Lock()
		f.startOverAt, f.startOverOf = faultpoint.LinkBeforeCommit, rowOf(text, "child")
		f.mu.Unlock()
	case "show-earlier":
		synctest.Wait()
		rows, err := f.store.Earlier(f.t.Context(), f.named(row, text).ID, 0, 100)
		require.NoError(f.t, err)
		for i := range rows {
			out += f.show(&rows[i])
		}
		return out
	case "start-child":
		_, err := f.x.Starter.Start(f.t.Context(), rowOf(text, "child"), nil)
		out = answerText(err)
	case "starts":
		f.holdStarts(text)
	case "show-child":
		synctest.Wait()
		return f.showChild(text)
	case "sweep-before-link":
		f.mu.Lock()
		f.sweepAt = faultpoint.LinkBeforeCommit
		f.mu.Unlock()
	case "signal-with-start":
		_, err := f.x.Starter.Start(f.t.Context(), row, &message.Signal{
			Name: words[0], Value: abi.MustMarshal(strings.Join(words[1:], " ")),
		})
		out = answerText(err)
	case "query":
		outcome, err := f.x.Queries.Query(
			f.t.Context(), request.Ref{ID: row.ID, Name: row.Name()}, abi.Query{Name: text, Input: abi.Nil},
		)
		if out = answerText(err); err == nil {
			out = outcomeText(outcome.Value, outcome.Error) + "\n"
		}
	case "settle", "signal", "signal-again", "reject", "interrupt", "stop", "terminate", "resume", "fail", "move":
		out = answerText(f.request(request.Ref{ID: row.ID, Name: row.Name()}, cmd, words))
	case "update", "update-validated", "update-for":
		f.update(row, cmd, words)
	case "published":
		out = f.publishedText(f.named(row, text))
	case "settle-later", "move-later":
		cmd := strings.TrimSuffix(cmd, "-later")
		go func() {
			f.note(
				cmd, "%s",
				strings.TrimSpace(answerText(f.request(request.Ref{ID: row.ID, Name: row.Name()}, cmd, words))),
			)
		}()
	case "while-opening":
		f.mu.Lock()
		f.opening = func() { f.meanwhile(row, words) }
		f.mu.Unlock()
	case "when-looked":
		f.mu.Lock()
		f.looked[words[0]] = func() {
			f.meanwhile(row, words[1:])
			time.Sleep(time.Nanosecond) // until all that follows from it has happened
		}
		f.mu.Unlock()
	case "while-committing":
		f.mu.Lock()
		f.committing = func() {
			if words[0] == "reserve" {
				number, err := strconv.ParseUint(words[1], 10, 32)
				require.NoError(f.t, err)
				f.decide(uint32(number), "reserve "+strings.Join(words[2:], " "))
				return
			}
			f.note(
				"meanwhile", "%s",
				strings.TrimSpace(answerText(f.request(
					request.Ref{ID: row.ID, Name: row.Name()}, words[0], words[1:],
				))),
			)
		}
		f.mu.Unlock()
	case "loads-fail":
		f.mu.Lock()
		_, err := fmt.Sscan(text, &f.noLoads)
		f.mu.Unlock()
		require.NoError(f.t, err)
	case "start-at-once":
		f.startAtOnce(row, text)
	case "store":
		f.commits.mu.Lock()
		f.commits.next = words
		f.commits.mu.Unlock()
	case "trap":
		f.mu.Lock()
		_, err := fmt.Sscan(text, &f.traps)
		f.mu.Unlock()
		require.NoError(f.t, err)
	case "slow":
		f.mu.Lock()
		_, err := fmt.Sscan(text, &f.slow)
		f.mu.Unlock()
		require.NoError(f.t, err)
	case "crowd":
		f.commits.mu.Lock()
		f.commits.crowded = text == "there"
		f.commits.mu.Unlock()
	case "slots":
		f.takeSlots(text == "taken")
	case "panic":
		f.mu.Lock()
		f.panicAt = text
		f.mu.Unlock()
	case "module":
		f.mu.Lock()
		f.missing = text == "missing"
		f.mu.Unlock()
	case "evict":
		f.x.evictor.evict(row.ID)
	case "evicting":
		f.evicting = true
		f.restart(0)
	case "serial":
		f.serial = true
		f.restart(0)
	case "drain":
		f.life.Drain()
		f.x.ReleaseAttempts(f.t.Context())
		f.restart(0)
	case "crash":
		var down time.Duration
		if text != "" {
			var err error
			down, err = time.ParseDuration(text)
			require.NoError(f.t, err)
		}
		f.restart(down)
	case "pending":
		in, err := f.x.Inspector.Inspect(f.t.Context(), request.Ref{ID: row.ID, Name: row.Name()})
		require.NoError(f.t, err)
		out = f.pendingText(in) + "\n"
	case "fork":
		out = answerText(f.fork(row, words[0], words[1]))
	case "settle-in":
		out = answerText(f.request(request.RefTo(f.named(row, words[0])), "settle", words[1:]))
	case "writes":
		f.commits.mu.Lock()
		out, f.commits.took = strings.Join(append(f.commits.took, ""), "\n"), nil
		f.commits.mu.Unlock()
	case "messages":
		synctest.Wait()
		return f.messages(f.named(row, text))
	case "show":
		synctest.Wait()
		return f.show(f.named(row, text))
	default:
		require.FailNow(f.t, "unknown command", cmd)
	}
	synctest.Wait()
	return out + f.takeNotes()
}

// meanwhile is what happens while a guest is opened.
func (f *fixture) meanwhile(row *journal.Execution, words []string) {
	if words[0] == "activity" {
		number, err := strconv.ParseUint(words[1], 10, 32)
		require.NoError(f.t, err)
		f.decide(uint32(number), strings.Join(words[2:], " "))
		return
	}
	require.NoError(f.t, f.request(request.Ref{ID: row.ID, Name: row.Name()}, words[0], words[1:]))
}

// named is the execution of the same workflow that has a key; the row itself if it is empty.
func (f *fixture) named(row *journal.Execution, key string) *journal.Execution {
	if key == "" {
		return row
	}
	found, err := f.store.Load(f.t.Context(), rowOf("w", key).ID)
	require.NoError(f.t, err)
	return found
}

// messages shows the inbox of an execution.
func (f *fixture) messages(row *journal.Execution) string {
	all, _, err := f.store.Messages(f.t.Context(), row.Receiver(), 0, journal.PageLimit{})
	require.NoError(f.t, err)
	var text strings.Builder
	for _, m := range all {
		fmt.Fprintf(&text, "%s %s: %s", m.Kind, m.Name, outcomeText(m.Value, nil))
		if m.Held {
			text.WriteString(", held")
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (f *fixture) fork(row *journal.Execution, key, at string) error {
	seq, err := strconv.ParseUint(at, 10, 64)
	require.NoError(f.t, err)
	source, err := f.store.Load(f.t.Context(), row.ID)
	require.NoError(f.t, err)
	fork := rowOf("w", key)
	fork.Digest, fork.Pinned = source.Digest, source.Pinned
	_, err = f.x.Recoder.Fork(f.t.Context(), source, fork, seq)
	return err
}

func (f *fixture) setScript(words []string, input string) {
	name := "w"
	for _, word := range words {
		if digest, ok := strings.CutPrefix(word, "digest="); ok {
			name += "@" + digest
		} else {
			name = strings.TrimPrefix(word, "name=")
		}
	}
	f.mu.Lock()
	f.scripts[name] = strings.Split(input, "\n")
	f.mu.Unlock()
}

// startOver has a run replace the finished one.
func (f *fixture) startOver(row *journal.Execution) string {
	stored, err := f.store.Load(f.t.Context(), row.ID)
	require.NoError(f.t, err)
	_, workflow, _ := strings.Cut(stored.Workflow, "/")
	next := rowOf(workflow, stored.Key)
	existed, err := f.x.Starter.StartOver(f.t.Context(), next, stored.Run, nil)
	if existed {
		return "it exists\n"
	}
	return answerText(err)
}

// holdStarts has calls wait before they start their callees, or behind that, or lets them.
func (f *fixture) holdStarts(how string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch how {
	case "held":
		f.starts = make(chan struct{})
	case "held-behind":
		f.startsBehind = make(chan struct{})
	default:
		for _, held := range []*chan struct{}{&f.starts, &f.startsBehind} {
			if *held != nil {
				close(*held)
			}
			*held = nil
		}
	}
}

// restart has the host die and another take over after a while.
func (f *fixture) restart(down time.Duration) {
	f.end()
	time.Sleep(down)
	synctest.Wait()
	f.takeNotes()
	f.boot()
	if f.scanning {
		return
	}
	due, err := f.store.Due(f.t.Context(), time.Now().UnixNano(), journal.Wake{}, 100)
	require.NoError(f.t, err)
	for _, w := range due {
		f.x.EnsureInMemory(w.ID)
	}
	mail, err := f.store.MailReceivers(f.t.Context(), journal.ID{}, 100)
	require.NoError(f.t, err)
	for _, id := range mail {
		f.x.WakeForMail(id)
	}
}

func (f *fixture) request(ref request.Ref, cmd string, words []string) error {
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Hour)
	defer cancel()
	switch cmd {
	case "settle":
		return f.x.Messages.Settle(ctx, ref, journal.Deferred{
			Name: words[0], Value: abi.MustMarshal(strings.Join(words[1:], " ")),
		})
	case "signal":
		return f.x.Messages.Signal(ctx, ref, message.Signal{
			Name: words[0], Value: abi.MustMarshal(strings.Join(words[1:], " ")),
		})
	case "signal-again":
		return f.x.Messages.Signal(ctx, ref, message.Signal{
			Name:   words[0],
			Value:  abi.MustMarshal(strings.Join(words[1:], " ")),
			Origin: journal.OriginOfRequest(words[1]),
		})
	case "reject":
		return f.x.Messages.Settle(ctx, ref, journal.Deferred{
			Name: words[0], Error: &abi.Error{Message: strings.Join(words[1:], " ")},
		})
	case "interrupt":
		return f.x.Messages.Interrupt(ctx, ref, strings.Join(words, " "))
	case "stop":
		return f.x.Operator.ResumeToStop(ctx, ref, strings.Join(words, " "))
	case "terminate":
		return f.x.Stops.Terminate(ctx, ref, strings.Join(words, " "))
	case "resume":
		return f.x.Operator.Resume(ctx, ref)
	case "move":
		return f.x.Operator.Move(ctx, ref, words[0])
	default:
		return f.x.Operator.Fail(ctx, ref, strings.Join(words, " "))
	}
}

func answerText(err error) string {
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	return "ok\n"
}

// startAtOnce has many callers start the same execution.
func (f *fixture) startAtOnce(row *journal.Execution, callers string) {
	n, err := strconv.Atoi(callers)
	require.NoError(f.t, err)
	for range n {
		start := *row
		start.CreatedAt, start.Run = time.Now().UnixNano(), journal.NewRunID()
		go func() {
			existed, err := f.x.Starter.Start(f.t.Context(), &start, nil)
			f.note("start", "existed: %v, %s", existed, strings.TrimSpace(answerText(err)))
		}()
	}
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.noted["start"])
}
