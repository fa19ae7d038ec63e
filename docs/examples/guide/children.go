package guide

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Call another workflow.

type Parcel struct {
	Order string `json:"order"`
}

type Shipment struct {
	Tracking string `json:"tracking"`
}

var Ship = cruster.NewWorkflow("Ship", ship)

// ship takes a day, and as long to take a parcel back.
func ship(ctx cruster.Context, p Parcel) (Shipment, error) {
	err := cruster.Sleep(ctx, 24*time.Hour)
	if errors.Is(err, cruster.ErrInterrupted) {
		return Shipment{}, errors.Join(cruster.Sleep(cruster.Shield(ctx), 24*time.Hour), err)
	}
	return Shipment{Tracking: "tr_" + p.Order}, err
}

var ShipThree = cruster.NewWorkflow("ShipThree", shipThree)

func shipThree(ctx cruster.Context, req Parcel) ([]string, error) {
	res, err := Ship.Client().Execute(ctx, req)
	if err != nil {
		return nil, err
	}
	tracked := []string{res.Tracking}
	id, err := Ship.Client().Start(ctx, req)
	if err != nil {
		return nil, err
	}
	f := Ship.Client().WithKeyRaw("order-42").Go(ctx, req)
	if res, err = f.Await(ctx); err != nil {
		return nil, err
	}
	tracked = append(tracked, res.Tracking)
	status, err := Ship.Client().Poll(ctx, id)
	if err != nil {
		return nil, err
	}
	tracked = append(tracked, status.State)
	res, err = cruster.RemoteWorkflow[Parcel, Shipment]("abroad/Ship").Execute(ctx, req)
	return append(tracked, res.Tracking), err
}

// The fate of a workflow whose caller stops waiting.

var Report = cruster.NewWorkflow("Report", report)

func report(ctx cruster.Context, month string) (string, error) {
	return "report of " + month, cruster.Sleep(ctx, time.Hour)
}

var Probe = cruster.NewWorkflow("Probe", probe)

func probe(ctx cruster.Context, host string) (string, error) {
	return host, cruster.Sleep(ctx, time.Hour)
}

type Watch struct {
	Month string `json:"month"`
	Host  string `json:"host"`
}

var Begin = cruster.NewWorkflow("Begin", begin)

// begin gives both workflows up after a minute, and returns how they ended.
func begin(ctx cruster.Context, w Watch) ([]string, error) {
	month, host := w.Month, w.Host
	hurried, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Minute))
	defer cancel()
	waitForBoth(hurried, month, host)
	written, err := Report.Client().Execute(ctx, month)
	if err != nil {
		return nil, err
	}
	_, err = Probe.Client().Execute(ctx, host)
	return []string{written, cruster.ErrorCode(err)}, nil
}

func waitForBoth(ctx cruster.Context, month, host string) {
	report := Report.Client().OnCancel(cruster.AbandonChild).Go(ctx, month)
	probe := Probe.Client().OnCancel(cruster.TerminateChild).Go(ctx, host)
	_, _ = cruster.All(ctx, report, probe)
}

// Wait for the cleanup of another workflow.

var Deliver = cruster.NewWorkflow("Deliver", deliver)

func deliver(ctx cruster.Context, req Parcel) (Shipment, error) {
	res, err := Ship.Client().Execute(ctx, req)
	if errors.Is(err, cruster.ErrInterrupted) {
		_, ended := Ship.Client().Execute(cruster.Shield(ctx), req)
		cruster.Logger(ctx).Info("it was taken back", "outcome", ended)
	}
	return res, err
}
