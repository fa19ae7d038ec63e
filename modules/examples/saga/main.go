// Command saga books a trip of three parts. If one of them is not available, or if a client interrupts the booking, the
// workflow gives back the parts that were booked, in reverse order.
package main

import (
	"errors"
	"slices"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// TripRequest is the request of BookTrip.
type TripRequest struct {
	TripID string `json:"trip_id"`
	// FailAt names the part that cannot be booked: flight, hotel or car.
	FailAt string `json:"fail_at,omitempty"`
	// PauseMS is a durable pause after each part, in milliseconds.
	PauseMS int64 `json:"pause_ms,omitempty"`
}

// TripResult is the result of BookTrip.
type TripResult struct {
	TripID string `json:"trip_id"`
	// Status is booked or compensated.
	Status      string   `json:"status"`
	Booked      []string `json:"booked"`
	Compensated []string `json:"compensated"`
	Reason      string   `json:"reason,omitempty"`
}

// BookTrip books a flight, a hotel and a car, or none of them.
var BookTrip = cruster.NewWorkflow("BookTrip", bookTrip,
	cruster.RawKey(func(r TripRequest) string { return r.TripID }))

func bookTrip(ctx cruster.Context, req TripRequest) (TripResult, error) {
	if req.TripID == "" {
		return TripResult{}, cruster.Errorf("invalid_trip", "a trip needs an id")
	}
	result := TripResult{TripID: req.TripID, Status: "booked", Booked: []string{}, Compensated: []string{}}
	failure := bookAll(ctx, req, &result)
	if failure == nil {
		return result, nil
	}
	result.Status, result.Reason = "compensated", failure.Error()
	if err := compensate(ctx, req.TripID, &result); err != nil {
		return TripResult{}, err
	}
	if errors.Is(failure, cruster.ErrInterrupted) {
		return TripResult{}, failure
	}
	return result, nil
}

// bookAll books one part after the other. It records a part before it books it: if the wait for the booking is
// interrupted, the part may have been booked or not, so it must be given back too.
func bookAll(ctx cruster.Context, req TripRequest, result *TripResult) error {
	for _, part := range []string{"flight", "hotel", "car"} {
		result.Booked = append(result.Booked, part)
		if _, err := Book.Call(ctx, Booking{TripID: req.TripID, Part: part, Fail: part == req.FailAt}); err != nil {
			if !errors.Is(err, cruster.ErrInterrupted) {
				result.Booked = result.Booked[:len(result.Booked)-1]
			}
			return err
		}
		if req.PauseMS > 0 {
			if err := cruster.Sleep(ctx, time.Duration(req.PauseMS)*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// compensate gives the bookings back, last part first. It is shielded: an interrupt must not stop it halfway.
func compensate(ctx cruster.Context, tripID string, result *TripResult) error {
	ctx = cruster.Shield(ctx)
	for _, part := range slices.Backward(result.Booked) {
		if _, err := GiveBack.Call(ctx, Booking{TripID: tripID, Part: part}); err != nil {
			return err
		}
		result.Compensated = append(result.Compensated, part)
	}
	result.Booked = []string{}
	return nil
}

// Booking is the input of Book and GiveBack.
type Booking struct {
	TripID string `json:"trip_id"`
	Part   string `json:"part"`
	Fail   bool   `json:"fail"`
}

var trip = cruster.NewGroup("Trip", cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

// Book books one part.
var Book = cruster.NewGroupActivity(trip, "Book", book)

func book(ctx *cruster.ActivityContext, b Booking) (bool, error) {
	if b.Fail {
		return false, cruster.NonRetryable(cruster.Errorf("sold_out", "there is no %s left", b.Part))
	}
	_, err := ctx.Tx().Exec(`INSERT INTO bookings (trip_id, part, status) VALUES ($1, $2, 'booked')
		ON CONFLICT (trip_id, part) DO UPDATE SET status = 'booked'`, b.TripID, b.Part)
	if err != nil {
		return false, err
	}
	return true, record(ctx, b, "book")
}

// GiveBack gives one part back. It does no harm if the part was never booked. It must succeed in the end, so it has
// many retries.
var GiveBack = cruster.NewGroupActivity(trip, "GiveBack", giveBack, cruster.Retries(100))

func giveBack(ctx *cruster.ActivityContext, b Booking) (bool, error) {
	n, err := ctx.Tx().Exec(
		`UPDATE bookings SET status = 'given_back' WHERE trip_id = $1 AND part = $2`, b.TripID, b.Part,
	)
	if err != nil {
		return false, err
	}
	return n > 0, record(ctx, b, "give_back")
}

// record appends to the log of the trip. Its position is counted in the same transaction, so the log shows the order in
// which things were committed.
func record(ctx *cruster.ActivityContext, b Booking, action string) error {
	position, err := cruster.QueryRow[int64](ctx.Tx(), `SELECT COUNT(*) FROM booking_log WHERE trip_id = $1`, b.TripID)
	if err != nil {
		return err
	}
	_, err = ctx.Tx().Exec(`INSERT INTO booking_log (trip_id, position, action, part) VALUES ($1, $2, $3, $4)`,
		b.TripID, position+1, action, b.Part)
	return err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "bookings", SQL: `
CREATE TABLE bookings (
	trip_id TEXT NOT NULL,
	part    TEXT NOT NULL,
	status  TEXT NOT NULL,
	PRIMARY KEY (trip_id, part)
)`},
	cruster.Migration{Version: 2, Name: "log", SQL: `
CREATE TABLE booking_log (
	trip_id  TEXT NOT NULL,
	position BIGINT NOT NULL,
	action   TEXT NOT NULL,
	part     TEXT NOT NULL
)`},
)

func main() {}
