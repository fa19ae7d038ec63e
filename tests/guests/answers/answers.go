// Package answers is a workflow that calls an entity, in versions that differ in the type of the operation's result.
package answers

import (
	"fmt"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Hotel is the state of a hotel.
type Hotel struct {
	Booked int64 `json:"booked"`
}

// Declare declares the hotel, whose rooms are a R, and the workflow that books one.
func Declare[R any](room func(number int64) R) *cruster.Workflow[string, string] {
	hotel := cruster.NewStatefulEntity[Hotel]("Hotel")
	book := cruster.NewOperation(hotel, "book", func(_ *cruster.EntityContext, h *Hotel, _ cruster.None) (R, error) {
		h.Booked++
		return room(h.Booked), nil
	})
	cancel := cruster.NewOperation(
		hotel,
		"cancel",
		func(_ *cruster.EntityContext, h *Hotel, _ cruster.None) (bool, error) {
			h.Booked--
			return true, nil
		},
	)
	cruster.NewReadOnly(hotel, "booked", func(_ *cruster.ReadContext, h Hotel, _ cruster.None) (int64, error) {
		return h.Booked, nil
	})
	gate := cruster.NewDeferred[bool]("gate")
	return cruster.NewWorkflow("Stay", func(ctx cruster.Context, at string) (string, error) {
		if _, err := gate.Await(ctx); err != nil {
			return "", err
		}
		number, err := book.On(at).Call(ctx, cruster.None{})
		if err != nil {
			// A room that was booked, and cannot be read, is not to be cancelled.
			_, _ = cancel.On(at).Call(ctx, cruster.None{})
			return "", err
		}
		return fmt.Sprintf("room %v", number), nil
	}).Accepts(gate)
}
