package execution

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Signal is what is sent to a workflow under a name.
type Signal struct {
	Name string
	// Value is one msgpack value.
	Value []byte
	// Origin tells the signal from others, if its sender may repeat it: the same one is
	// received once. Zero says that it is not repeated.
	Origin journal.Origin
	// From is the step that sends it, if one does.
	From journal.Caller
}

// message is the signal on its way to an execution, if that is a signal of its workflow.
func (x *Executions) message(ctx context.Context, row *journal.Execution, s Signal) (journal.Message, error) {
	value, err := x.CheckSignal(ctx, row, s.Name, s.Value)
	if err != nil {
		return journal.Message{}, err
	}
	m := journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.SignalMessage, Name: s.Name, At: x.now(), Bytes: len(value), Origin: s.Origin, From: s.From, Repeatable: s.Origin != journal.Origin{},
		},
		Value: value,
	}
	if !m.Repeatable {
		m.Origin = journal.NewOrigin()
	}
	return m, nil
}

// Signal sends a signal to an execution. It returns once the signal is durable; the
// workflow receives it when it asks for it.
func (x *Executions) Signal(ctx context.Context, ref Ref, s Signal) error {
	row, err := x.Load(ctx, ref)
	if err != nil {
		return err
	}
	m, err := x.message(ctx, row, s)
	if err != nil {
		return err
	}
	ref.Chain = row.Chain // it was checked against this one's workflow
	return x.tell(ctx, ref, messageNews{m})
}

// receiveMessage puts a signal or an update into the inbox.
func (r *run) receiveMessage(m journal.Message) error {
	if r.row.State.Final() {
		return r.cameLate(r.Host.Context(), r.row, m)
	}
	before, after := messageNews{m}.points()
	r.Fault.Pass(before)
	res, err := r.Committer.Commit(journal.Write{ID: r.id, Run: r.row.Run, Receive: &m})
	if err != nil {
		return codedNews("tell "+r.row.Name(), r.row.Name(), err)
	}
	r.Fault.Pass(after)
	if res.Existed {
		return nil
	}
	r.wokenByNews()
	m.Position = res.Position
	r.take([]journal.Message{m})
	return nil
}

// cameLate answers a message to an execution that is over: it is refused, unless it was
// sent before and is repeated. An update in the inbox has no answer.
func (x *Executions) cameLate(ctx context.Context, row *journal.Execution, m journal.Message) error {
	if !m.Repeatable {
		return alreadyOver(row)
	}
	_, err := x.Store.Receipt(ctx, row.ID, m.Origin)
	if err == nil {
		return nil
	}
	unread := []journal.Envelope(nil)
	if errors.Is(err, journal.ErrNotFound) {
		unread, err = x.Store.Inbox(ctx, row.ID, 0)
	}
	switch {
	case err != nil:
		return journal.Coded("tell "+row.Name(), err)
	case !slices.ContainsFunc(unread, func(e journal.Envelope) bool { return e.Origin == m.Origin }):
		return alreadyOver(row)
	case m.Kind == journal.UpdateMessage:
		return unanswered(row)
	}
	return nil
}

// take takes in messages that are durable.
func (r *run) take(messages []journal.Message) {
	for _, m := range messages {
		r.received.add(m)
		r.locked(func(l *ledger) { l.arrived(m.Envelope) })
	}
}

// wokenByNews notes what the commit of news has done to the row.
func (r *run) wokenByNews() {
	if r.row.State == journal.Running {
		r.row.WakeAt = journal.Now
	}
	r.rowWrites++
}

// codedNews is the error of a commit of news. One that is undecided stays what it is.
func codedNews(doing, name string, err error) error {
	switch {
	case errors.Is(err, journal.ErrUndecided):
		return err
	case errors.Is(err, journal.ErrInboxFull):
		return abi.Errorf(abi.CodeInboxFull, "%s has %d messages, or %d MiB of them, that it has not received or answered yet", name, journal.MaxInbox, journal.MaxInboxBytes>>20)
	default:
		return journal.Coded(doing, err)
	}
}
