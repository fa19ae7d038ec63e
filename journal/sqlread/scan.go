package sqlread

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// ID is an id of any sort, as an argument of a query and as a destination, which NULL leaves as it is. Pointers to ids
// are converted to pointers to it.
type ID [16]byte

// BytesValue makes it an argument.
func (id *ID) BytesValue() ([]byte, error) { return id[:], nil }

// ScanBytes implements [BytesScanner].
func (id *ID) ScanBytes(b []byte) error {
	if b != nil && len(b) != len(id) {
		return fmt.Errorf("%w: an id has %d bytes, not %d", journal.ErrCorrupt, len(b), len(id))
	}
	copy(id[:], b)
	return nil
}

// packed is a destination for a value that is stored as msgpack; NULL leaves it as it is.
type packed[T any] struct{ into *T }

// ScanBytes implements [BytesScanner].
func (p packed[T]) ScanBytes(b []byte) error {
	if b == nil {
		return nil
	}
	if err := abi.Unmarshal(b, p.into); err != nil {
		return fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
	}
	return nil
}

func unpack[T any](into *T) packed[T] { return packed[T]{into} }

// Final are the states of executions that have ended.
const Final = `('completed', 'failed', 'interrupted')`

// ExecutionColumns are the columns of a row e without its payloads: see [ScanListed].
const ExecutionColumns = `e.id, e.namespace, e.workflow, e.key, e.digest, e.state, e.error, e.wake_at, e.interrupt, ` +
	`e.parent, e.parent_run, e.parent_step, e.created_at, e.finished_at, e.run, e.waiting, e.pinned, e.moved_at, ` +
	`e.section, coalesce(e.chain, e.run), e.continued, e.superseded, e.request, e.arrivals`

func scanExecution(row Row, e *journal.Execution, behind ...any) error {
	into := append(make([]any, 0, 28), (*ID)(&e.ID), &e.Namespace, &e.Workflow, &e.Key, &e.Digest, (*string)(&e.State),
		unpack(&e.Error), &e.WakeAt, unpack(&e.Interrupt), (*ID)(&e.Parent.ID), (*ID)(&e.Parent.Run),
		(*ID)(&e.Parent.Step),
		&e.CreatedAt, &e.FinishedAt, (*ID)(&e.Run), unpack(&e.Waiting), unpack(&e.Pinned), &e.MovedAt,
		(*ID)(&e.Section), (*ID)(&e.Chain), &e.Continued, &e.Superseded, (*ID)(&e.Request), &e.Arrivals,
	)
	if err := row.Scan(append(into, behind...)...); err != nil {
		return fmt.Errorf("execution %s: %w", e.ID, err)
	}
	return nil
}

// ScanListed reads an execution without its payloads, as one of many.
func ScanListed(row Row, e *journal.Execution) error {
	err := scanExecution(row, e)
	*e = journal.Listed(*e)
	return err
}

func scanWhole(row Row, e *journal.Execution) error { return scanExecution(row, e, &e.Input, &e.Value) }

func scanBrief(row Row, e *journal.Execution) error {
	err := scanExecution(row, e, &e.Input, &e.Value, &e.LeftOut.Input, &e.LeftOut.Value)
	e.LeftOut.Input -= len(e.Input)
	e.LeftOut.Value -= len(e.Value)
	return err
}

func scanLink(row Row, l *journal.Link) error { return row.Scan((*ID)(&l.Callee), (*ID)(&l.Chain)) }

func scanHibernated(row Row, h *journal.Hibernated) error { return row.Scan(&h.Seq, &h.Body) }

// ScanID reads an id.
func ScanID(row Row, id *journal.ID) error { return row.Scan((*ID)(id)) }

// ScanWake reads an id and when it is due.
func ScanWake(row Row, w *journal.Wake) error { return row.Scan((*ID)(&w.ID), &w.At) }

func scanText(row Row, text *string) error { return row.Scan(text) }

// ScanName reads the name of an execution.
func ScanName(row Row, name *string) error {
	var e journal.Execution
	err := row.Scan(&e.Workflow, &e.Key)
	*name = e.Name()
	return err
}

const entityColumns = `id, namespace, type, key, version, created_at, updated_at`

func scanListedEntity(row Row, e *journal.Entity) error { return row.Scan(entity(e)...) }

func scanEntity(row Row, e *journal.Entity) error { return row.Scan(append(entity(e), &e.State)...) }

// entity are the destinations of the columns of an entity.
func entity(e *journal.Entity) []any {
	return append(
		make([]any, 0, 11), (*ID)(&e.ID), &e.Namespace, &e.Type, &e.Key, &e.Version, &e.CreatedAt, &e.UpdatedAt,
	)
}

// caller adds the destinations of the columns of a step.
func caller(c *journal.Caller, before ...any) []any {
	return append(before, (*ID)(&c.ID), (*ID)(&c.Run), (*ID)(&c.Step))
}

// LockColumns are the columns of a lock l: see [ScanLock].
const LockColumns = `l.id, l.namespace, l.type, l.key, l.holder, l.holder_run, l.holder_step, l.since`

// ScanLock reads a lock.
func ScanLock(row Row, l *journal.Lock) error { return ScanLockWith(row, l) }

// ScanLockWith reads a lock and the columns behind it.
func ScanLockWith(row Row, l *journal.Lock, behind ...any) error {
	into := append(make([]any, 0, 10), (*ID)(&l.Entity), &l.Namespace, &l.Type, &l.Key)
	into = append(caller(&l.Holder, into...), &l.Since)
	return row.Scan(append(into, behind...)...)
}

// envelope are the destinations of the columns of an envelope, and the ones behind them.
func envelope(e *journal.Envelope, behind ...any) []any {
	into := append(make([]any, 0, 16), &e.Position, (*ID)(&e.Origin), (*string)(&e.Kind), &e.Name, &e.At,
		&e.Repeatable, &e.Held, &e.Bytes)
	return append(caller(&e.From, into...), behind...)
}

func scanEnvelope(row Row, e *journal.Envelope) error { return row.Scan(envelope(e)...) }

// ScanMessage reads a message.
func ScanMessage(row Row, m *journal.Message) error { return ScanMessageWith(row, m) }

// ScanMessageWith reads a message and the columns behind it.
func ScanMessageWith(row Row, m *journal.Message, behind ...any) error {
	return row.Scan(append(envelope(&m.Envelope, &m.Value), behind...)...)
}

func scanFound(row Row, m *journal.FoundMessage) error {
	var body journal.ParkedBody
	err := row.Scan(envelope(&m.Envelope, unpack(&body))...)
	m.Parked = body.Reason
	return err
}

func scanParked(row Row, m *journal.ParkedMessage) error {
	var body journal.ParkedBody
	err := row.Scan(envelope(&m.Message, (*ID)(&m.Entity), &m.Namespace, &m.Type, &m.Key, unpack(&body))...)
	m.Position = m.Message.Position
	m.SetBody(&body)
	return err
}

// ReceiptColumns are the columns of a receipt: see [ScanReceipt].
const ReceiptColumns = `origin, at, error, value, sender, sender_run, step`

// ScanReceipt reads a receipt.
func ScanReceipt(row Row, r *journal.Receipt) error {
	into := append(make([]any, 0, 7), (*ID)(&r.Origin), &r.At, unpack(&r.Error), &r.Value)
	return row.Scan(caller(&r.From, into...)...)
}

func scanPublished(row Row, p *journal.Published) error {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return err
	}
	published, err := journal.PublishedOf(body)
	if err == nil {
		*p = *published
	}
	return err
}

func scanModule(row Row, m *journal.Module) error {
	return row.Scan(&m.Digest, &m.Manifest, &m.CreatedAt, &m.Binary)
}

func scanDeployment(row Row, d *journal.Deployment) error {
	var config, allow []byte
	if err := row.Scan(&d.Namespace, &d.Name, &d.Digest, &d.Version, &config, &allow, &d.UpdatedAt); err != nil {
		return err
	}
	if err := abi.Unmarshal(config, &d.Config); err != nil {
		return fmt.Errorf("config of deployment %q: %w", d.Name, err)
	}
	if err := abi.Unmarshal(allow, &d.AllowHTTP); err != nil {
		return fmt.Errorf("grants of deployment %q: %w", d.Name, err)
	}
	return nil
}

const scheduleColumns = `namespace, name, version, wake_at, body`

func scanSchedule(row Row, s *journal.Schedule) error { return scanScheduleWith(row, s, &s.Input) }

func scanListedSchedule(row Row, s *journal.Schedule) error { return scanScheduleWith(row, s) }

func scanScheduleWith(row Row, s *journal.Schedule, behind ...any) error {
	var body []byte
	if err := row.Scan(append([]any{&s.Namespace, &s.Name, &s.Version, &s.WakeAt, &body}, behind...)...); err != nil {
		return err
	}
	if err := s.SetBody(body); err != nil {
		return fmt.Errorf("schedule %q: %w", s.Name, err)
	}
	return nil
}
