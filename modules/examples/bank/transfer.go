package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

// TransferRequest is the request of Transfer.
type TransferRequest struct {
	ID    string `json:"transfer_id"`
	From  string `json:"from"`
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

// Receipt is the result of Transfer.
type Receipt struct {
	// Moved tells whether there was enough to move.
	Moved bool `json:"moved"`
	// From and To are the balances of the accounts then.
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Transfer moves money from one account to another, once per transfer.
var Transfer = cruster.NewWorkflow("Transfer", transfer,
	cruster.RawKey(func(r TransferRequest) string { return r.ID }))

func transfer(ctx cruster.Context, req TransferRequest) (Receipt, error) {
	if req.Cents <= 0 || req.From == req.To {
		return Receipt{}, cruster.Errorf(
			"invalid_transfer", "a transfer moves a positive amount from one account to another",
		)
	}
	section, err := cruster.Lock(ctx, Accounts.ID(req.From), Accounts.ID(req.To))
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := move(ctx, req)
	if err != nil {
		return Receipt{}, err // the end of the run releases both
	}
	return receipt, section.Unlock(ctx)
}

// move runs while both accounts are locked: the balances that it read stay true until it is done.
func move(ctx cruster.Context, req TransferRequest) (r Receipt, err error) {
	if r.From, err = Balance.On(req.From).Call(ctx, cruster.None{}); err != nil {
		return r, err
	}
	if r.From < req.Cents {
		r.To, err = Balance.On(req.To).Call(ctx, cruster.None{})
		return r, err
	}
	if r.From, err = Deposit.On(req.From).Call(ctx, -req.Cents); err != nil {
		return r, err
	}
	if r.To, err = Deposit.On(req.To).Call(ctx, req.Cents); err != nil {
		return r, err
	}
	r.Moved = true
	return r, nil
}
