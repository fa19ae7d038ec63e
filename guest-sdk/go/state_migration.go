package cruster

import (
	"fmt"
	"reflect"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// MigrateState brings states from one shape to the next. The states that a module writes have a
// version, which is the number of its migrations: an older state goes through the migrations it has
// missed, when its entity is next called.
//
//	var Accounts = cruster.NewStatefulEntity[Account]("Account",
//		cruster.MigrateState(func(old accountV0) (accountV1, error) { … }), // from version 0 to 1
//		cruster.MigrateState(func(old accountV1) (Account, error) { … }),   // from version 1 to 2
//	)
//
// Migrations are in order: each takes the result of the one before it, and the last returns the
// state. Do not remove one for as long as there may be states of its version. A field that is new
// needs no migration: it is zero in older states.
func MigrateState[Old, New any](migrate func(Old) (New, error)) EntityOption {
	return func(e *guest.Entity) {
		if e.State == nil {
			panic(fmt.Sprintf("cruster: entity %s has no state to migrate", e.Name))
		}
		e.State.Migrations = append(e.State.Migrations, guest.StateMigration{
			From:   reflect.TypeFor[Old](),
			To:     reflect.TypeFor[New](),
			Decode: func(data []byte) (any, error) { return decode[Old](data) },
			Run:    func(old any) (any, error) { return migrate(old.(Old)) },
		})
	}
}
