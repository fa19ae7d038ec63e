// Package stdsql lets libraries that are written for database/sql use the transaction of an
// activity, or of a call of an entity without a state: code of sqlc, sqlx, squirrel and others.
//
//	func save(ctx *cruster.ActivityContext, o Order) (int64, error) {
//		db := stdsql.Open(ctx)
//		return orders.New(db).Insert(ctx, o.ID, o.Cents)
//	}
//
// An activity has one transaction, which begins with its first statement and commits with its
// result: either both are stored, or neither. So the calls of database/sql mean:
//
//   - A statement of the sql.DB runs in that transaction. Nothing is committed behind it.
//   - Begin begins a part of it, Commit ends that part, and Rollback undoes it. There is one
//     part that is committed: another Begin after Commit is refused, because it would promise
//     that the first part is stored already. Make them two activities.
//   - A part that is neither committed nor rolled back when the activity returns is rolled back.
//   - While such a part is open, statements of the sql.DB are refused: with another database
//     they would not be part of it. For the same reason Begin is refused behind statements of
//     the sql.DB that may have changed something.
//   - Levels of isolation and read-only transactions are refused: it is the host that chooses.
//
// $1, $2, … stand for arguments on every store. There is no LastInsertId: use RETURNING. A text in the form in which
// SQLite keeps the times that it is given, with nine digits behind the second, is a time.Time; scanned into a string it
// is the same time with the zeros left out.
//
// It is a package of its own because a module that does not import it should not have
// database/sql. cruster.Tx needs none of it.
package stdsql
