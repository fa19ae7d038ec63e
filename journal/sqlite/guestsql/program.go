package guestsql

import (
	"strings"

	"zombiezen.com/go/sqlite"
)

// maxWork bounds the work of a program between two checks for an interrupt: about two seconds on a
// slow machine.
//
// SQLite looks at the jumps of its loops, never inside a function and never in straight code. A statement of a few
// kilobytes has room for a thousand calls in a row, each on megabytes. The naive bound is on the length of the
// statement; but short statements run long definitions (generated columns, checks, indexes on expressions), and a long
// list of rows to insert costs nothing. So the compiled program is looked at: the sum of the costs of its instructions
// for each byte, and from it how long values may be. The calls of functions dominate; ten calls of json_extract leave
// values of 400 kB, a hundred of them 40 kB.
const maxWork = int64(maxValueBytes) * int64(parse)

// maxKnownCosts bounds the memory for programs that were looked at before.
const maxKnownCosts = 1000

// instructionCosts are the instructions that take no time in proportion to a value (0), or that
// walk over one more than once. All others cost 1.
var instructionCosts = func() map[string]cost {
	all := map[string]cost{}
	for price, names := range map[cost]string{
		0: `BeginSubrtn Blob Close CollSeq Count DecrJumpZero DeferredSeek EndCoroutine Explain FinishSeek FkCheck
		FkCounter FkIfZero Gosub
			Goto Halt HaltIfNull If IfNot IfNotZero IfNullRow IfPos Init InitCoroutine Int64 IntCopy Integer IsNull
			Jump Last Move
			MustBeInt NewRowid Next Noop NotExists NotNull Null NullRow Once OpenAutoindex OpenDup OpenEphemeral
			OpenPseudo OpenRead OpenWrite
			Param Prev Program Real RealAffinity ReopenIdx ResetCount ResetSorter ResultRow Return Rewind Rowid SCopy
			SeekRowid Sequence
			SoftNull Sort SorterNext SorterOpen SorterSort String String8 TableLock Transaction VNext VOpen Variable
			Yield ZeroOrNull`,
		4: "Cast Concat Compare Eq Ge Gt Le Lt Ne",
		16: "Delete Found IdxDelete IdxGE IdxGT IdxInsert IdxLE IdxLT Insert NoConflict NotFound SeekGE SeekGT " +
			"SeekLE SeekLT SorterCompare SorterInsert",
		64:    "VColumn",
		parse: "VFilter",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = price
		}
	}
	return all
}()

// Bound limits the length of values by the work that sql, which was compiled and is about to run, does with them. It is
// called between Enter and the function that Enter returned.
func (b *Sandbox) Bound(sql string) error {
	total, known := b.costs[sql]
	if !known {
		var err error
		if total, err = b.programCost(sql); err != nil {
			return err
		}
		// Definitions change the cost of a statement.
		if b.mode != Rows || len(b.costs) >= maxKnownCosts {
			clear(b.costs)
		}
		if b.mode == Rows {
			b.costs[sql] = total
		}
	}
	b.longest = int32(min(maxValueBytes, maxWork/max(int64(total), 1)))
	b.conn.Limit(sqlite.LimitLength, b.longest)
	return nil
}

// programCost adds up the instructions of sql, for each byte of the longest value.
func (b *Sandbox) programCost(sql string) (total cost, err error) {
	b.asked = 0 // it is compiled once more
	stmt, _, err := b.conn.PrepareTransient("EXPLAIN " + SkipBlank(sql, true))
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Finalize() }()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return total, err
		}
		const opcode, p3, p4 = 1, 4, 5
		total += instructionCost(stmt.ColumnText(opcode), stmt.ColumnInt64(p3), stmt.ColumnText(p4))
	}
}

func instructionCost(opcode string, p3 int64, p4 string) cost {
	switch opcode {
	case "Function", "PureFunc", "AggStep", "AggStep1", "AggInverse", "AggValue", "AggFinal":
		name, _, _ := strings.Cut(p4, "(")
		if price, known := allowed[name]; known {
			return price
		}
		return edit // of SQLite itself, in ALTER
	}
	price, known := instructionCosts[opcode]
	if !known {
		return 1
	}
	if opcode == "Compare" {
		return price * cost(max(p3, 1)) // so many columns
	}
	return price
}
