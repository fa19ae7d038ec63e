package cruster_test

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// The examples share an activity that prices a thing.
var price = cruster.NewActivity("example.price", func(_ *cruster.ActivityContext, sku string) (int, error) {
	switch sku {
	case "apple":
		return 30, nil
	case "pear":
		return 45, nil
	}
	return 0, cruster.NonRetryable(cruster.Errorf("unknown_sku", "there is no %s", sku))
}, cruster.Retries(3), cruster.ExponentialBackoff(time.Second))

var sequence = cruster.NewWorkflow("example.sequence", func(ctx cruster.Context, sku string) (string, error) {
	cents, err := price.Call(ctx, sku)
	if err != nil {
		return "", err
	}
	if err := cruster.Sleep(ctx, 24*time.Hour); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d cents on %s", sku, cents, cruster.Now(ctx).Format(time.DateOnly)), nil
})

func ExampleNewWorkflow() {
	fmt.Println(crustertest.Execute(sequence, "apple"))
	// Output: apple: 30 cents on 2030-01-02 <nil>
}

func ExampleErrorType() {
	_, err := crustertest.Execute(sequence, "brick")
	fmt.Println(cruster.ErrorType(err))
	// Output: unknown_sku
}

var parallel = cruster.NewWorkflow("example.parallel", func(ctx cruster.Context, skus []string) (int, error) {
	var futures []cruster.Future[int]
	for _, sku := range skus {
		futures = append(futures, price.Go(ctx, sku))
	}
	prices, err := cruster.All(ctx, futures...)
	total := 0
	for _, p := range prices {
		total += p
	}
	return total, err
})

func ExampleAll() {
	fmt.Println(crustertest.Execute(parallel, []string{"apple", "pear", "apple"}))
	// Output: 105 <nil>
}

var race = cruster.NewWorkflow("example.race", func(ctx cruster.Context, _ int) (string, error) {
	hare := cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
		return "hare", cruster.Sleep(ctx, time.Hour)
	})
	tortoise := cruster.Async(ctx, func(ctx cruster.Context) (string, error) {
		return "tortoise", cruster.Sleep(ctx, time.Minute)
	})
	_, winner, err := cruster.First(ctx, hare, tortoise)
	return winner, err
})

func ExampleFirst() {
	fmt.Println(crustertest.Execute(race, 0))
	// Output: tortoise <nil>
}

var confirmed = cruster.NewDeferred[string]("confirmed")

var confirmation = cruster.NewWorkflow(
	"example.confirmation",
	func(ctx cruster.Context, patience time.Duration) (string, error) {
		by, err := cruster.WithTimeout(ctx, patience, confirmed.Future(ctx))
		if errors.Is(err, cruster.ErrTimeout) {
			return "not confirmed", nil
		}
		return by, err
	},
).Accepts(confirmed)

func ExampleWithTimeout() {
	ada := crustertest.ResolveAfter(time.Hour, confirmed, "ada")
	fmt.Println(crustertest.Execute(confirmation, 2*time.Hour, ada))
	fmt.Println(crustertest.Execute(confirmation, time.Minute, ada))
	// Output:
	// ada <nil>
	// not confirmed <nil>
}

var choosing = cruster.NewWorkflow("example.choosing", func(ctx cruster.Context, _ int) (string, error) {
	var outcome string
	err := cruster.Select(ctx,
		cruster.On(confirmed.Future(ctx), func(by string, err error) { outcome = "confirmed by " + by }),
		cruster.On(price.Go(ctx, "pear"), func(cents int, err error) {
			outcome = fmt.Sprintf("a pear is %d cents", cents)
		}),
		cruster.After(time.Hour, func() { outcome = "too late" }),
	)
	return outcome, err
}).Accepts(confirmed)

func ExampleSelect() {
	fmt.Println(crustertest.Execute(choosing, 0))
	// Output: a pear is 45 cents <nil>
}

var workers = cruster.NewWorkflow("example.workers", func(ctx cruster.Context, jobs []string) ([]string, error) {
	var done []string
	worker := func(name string) cruster.Future[cruster.None] {
		return cruster.Go(ctx, func(ctx cruster.Context) error {
			for len(jobs) > 0 {
				job := jobs[0]
				jobs = jobs[1:]
				if _, err := price.Call(ctx, job); err != nil {
					return err
				}
				done = append(done, name+" did "+job)
			}
			return nil
		})
	}
	_, err := cruster.All(ctx, worker("ada"), worker("bob"))
	return done, err
})

// Coroutines share variables without locks: one runs at a time.
func ExampleGo() {
	done, err := crustertest.Execute(workers, []string{"apple", "pear", "apple"})
	fmt.Println(done, err)
	// Output: [ada did apple bob did pear ada did apple] <nil>
}

var tidy = cruster.NewWorkflow("example.tidy", func(ctx cruster.Context, _ int) (int, error) {
	err := cruster.Sleep(ctx, 30*24*time.Hour)
	if errors.Is(err, cruster.ErrInterrupted) {
		if _, cleanup := price.Call(cruster.Shield(ctx), "apple"); cleanup != nil {
			return 0, cleanup
		}
	}
	return 0, err
})

func ExampleShield() {
	var h crustertest.History
	_, err := crustertest.Execute(
		tidy, 0, crustertest.InterruptAfter(time.Hour, "closing down"), crustertest.Record(&h),
	)
	fmt.Println(err)
	fmt.Println(h.Steps())
	// Output:
	// CR-2007: the execution was asked to stop: closing down
	// [sleep 720h0m0s activity example.price]
}

var caller = cruster.NewWorkflow("example.caller", func(ctx cruster.Context, sku string) (string, error) {
	return sequence.Client().Execute(ctx, sku)
})

func ExampleClient_Execute() {
	fmt.Println(crustertest.Execute(caller, "pear"))
	// Output: pear: 45 cents on 2030-01-02 <nil>
}

var retold = cruster.NewWorkflow("example.retold", func(ctx cruster.Context, sku string) (int, error) {
	return price.With(
		cruster.ActivityKey("first-price"), cruster.Retries(1), cruster.ConstantBackoff(time.Minute),
	).Call(ctx, sku)
})

func ExampleActivity_With() {
	var h crustertest.History
	_, err := crustertest.Execute(retold, "apple", crustertest.Record(&h),
		crustertest.Stub(price, func(ctx *cruster.ActivityContext, _ string) (int, error) {
			return 0, fmt.Errorf("attempt %d failed", ctx.Attempt())
		}))
	fmt.Println(err, h.Duration())
	// Output: CR-2006: attempt 2 failed 1m0s
}

var (
	payment = cruster.NewSignal[int64]("payment")
	enough  = cruster.NewWorkflow("enough", func(ctx cruster.Context, cents int64) (int64, error) {
		var sum int64
		for sum < cents {
			paid, err := cruster.WithTimeout(ctx, 24*time.Hour, payment.Future(ctx))
			if err != nil {
				return sum, err
			}
			sum += paid
		}
		return sum, nil
	}).Accepts(payment)
)

// A workflow receives any number of signals, each for no longer than a day.
func ExampleSignal() {
	sum, err := crustertest.Execute(enough, 500,
		crustertest.Signal(payment, 200),
		crustertest.SignalAfter(23*time.Hour, payment, 200),
		crustertest.SignalAfter(46*time.Hour, payment, 200))
	fmt.Println(sum, err)
	_, err = crustertest.Execute(enough, 500, crustertest.SignalAfter(23*time.Hour, payment, 200))
	fmt.Println(err)
	// Output:
	// 600 <nil>
	// CR-2006: timed out
}

type till struct {
	Cents int64 `json:"cents"`
}

var (
	tills = cruster.NewStatefulEntity[till]("Till")

	put = cruster.NewOperation(tills, "put", func(_ *cruster.EntityContext, t *till, cents int64) (int64, error) {
		t.Cents += cents
		return t.Cents, nil
	})

	take = cruster.NewOperation(tills, "take", func(_ *cruster.EntityContext, t *till, cents int64) (int64, error) {
		t.Cents -= cents
		if t.Cents < 0 {
			return 0, cruster.Errorf("too_little", "%d cents are missing", -t.Cents)
		}
		return t.Cents, nil
	})

	look = cruster.NewReadOnly(tills, "look", func(_ *cruster.ReadContext, t till, _ cruster.None) (int64, error) {
		return t.Cents, nil
	})

	carry = cruster.NewWorkflow("carry", func(ctx cruster.Context, cents int64) (int64, error) {
		if _, err := take.On("left").Call(ctx, cents); err != nil {
			return 0, err
		}
		return put.On("right").Call(ctx, cents)
	})
)

// Entities keep their state between calls; an operation that fails has changed nothing.
func ExampleNewStatefulEntity() {
	entities := crustertest.NewEntities(nil)
	_, err := crustertest.Call(entities, put, "left", 300)
	fmt.Println(err)
	for range 2 {
		right, err := crustertest.Execute(carry, 200, crustertest.UseEntities(entities))
		fmt.Println(right, err)
	}
	left, err := crustertest.Call(entities, look, "left", cruster.None{})
	fmt.Println(left, err)
	// Output:
	// <nil>
	// 200 <nil>
	// 0 CR-2006: 100 cents are missing
	// 100 <nil>
}
