package execution

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// turnLog takes the log lines of turns: they are held back until the turn is durable.
type turnLog struct {
	followers *follow.List
	log       *slog.Logger
	row       *journal.Execution
	now       func() int64
}

func (r *run) turnLog() turnLog {
	return turnLog{followers: r.deps.Followers, log: r.log, row: r.row, now: r.deps.now}
}

// write releases the log lines of a committed turn.
func (l turnLog) write(turn guest.Turn) { l.writeTo(l.log, turn.Log, false) }

// writeCrashed releases the log lines of a turn in which the guest crashed: authors look for them.
// The lines are marked.
func (l turnLog) writeCrashed(turn guest.Turn) {
	lines := turn.Log
	if i := slices.IndexFunc(lines, reportsCrash); i >= 0 {
		lines = lines[:i]
	}
	l.writeTo(l.log.With("crashed", true), lines, true)
}

func (l turnLog) writeTo(log *slog.Logger, lines []guest.LogLine, crashed bool) {
	for _, line := range lines {
		guestlog.Write(log, line.Level, []byte(line.Message))
		l.followers.Log(l.row, func() follow.Line {
			return follow.Line{
				At: l.now(), Crashed: crashed, Level: line.Level, Message: abi.LogText([]byte(line.Message)),
			}
		})
	}
}

// reportsCrash tells whether a line begins the crash report of a language runtime. The error has
// the part of it that matters.
func reportsCrash(l guest.LogLine) bool {
	return l.Level == abi.LogWarn &&
		slices.ContainsFunc([]string{"panic: ", "fatal error: ", "runtime: ", "thread '"}, func(begin string) bool {
			return strings.HasPrefix(l.Message, begin)
		})
}
