package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
)

type receiptRows struct {
	keys
	origins, errors, values [][]byte
	at                      []int64
	from                    callers
}

func (r *receiptRows) add(id journal.ID, receipt *journal.Receipt) {
	r.keys.add(id)
	r.origins = append(r.origins, receipt.Origin[:])
	r.at = append(r.at, receipt.At)
	r.errors = append(r.errors, encodeError(receipt.Error))
	r.values = append(r.values, receipt.Value)
	r.from.add(receipt.From)
}

func (r *receiptRows) queue(b *pgx.Batch) {
	b.Queue(stmtReceipts, r.shards, r.ids, r.origins, r.at, r.from.ids, r.from.runs, r.from.steps, r.errors, r.values)
}
