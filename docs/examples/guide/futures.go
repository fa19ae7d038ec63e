package guide

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Do several things at once.

var PrintLabel = cruster.NewActivity("print_label", printLabel)

func printLabel(ctx *cruster.ActivityContext, o Order) (string, error) { return "to " + o.ID, nil }

var Dispatch = cruster.NewWorkflow("Dispatch", dispatch)

func dispatch(ctx cruster.Context, o Order) (string, error) {
	charge := Charge.Go(ctx, o)
	label := PrintLabel.Go(ctx, o)
	id, err := cruster.WithTimeout(ctx, time.Hour, charge)
	if err != nil {
		return "", err
	}
	printed, err := label.Await(ctx)
	return id + " " + printed, err
}

// At most ten at a time, and for no longer than a minute.

var Fetch = cruster.NewActivity("fetch", fetch, cruster.Timeout(5*time.Minute))

func fetch(ctx *cruster.ActivityContext, url string) (int, error) {
	page, err := ctx.HTTP().Get(url)
	return len(page.Body), err
}

var Crawl = cruster.NewWorkflow("Crawl", crawl)

// crawl returns the addresses whose pages did not come in time.
func crawl(ctx cruster.Context, urls []string) (missing []string, err error) {
	hurried, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Minute))
	defer cancel()
	for i, page := range cruster.MapSettled(hurried, urls, 10, Fetch.Call) {
		if page.Err != nil {
			missing = append(missing, urls[i])
		}
	}
	return missing, nil
}

var CrawlAll = cruster.NewWorkflow("CrawlAll", crawlAll)

// crawlAll ends with the first page that cannot be fetched.
func crawlAll(ctx cruster.Context, urls []string) ([]int, error) {
	return cruster.Map(ctx, urls, 10, Fetch.Call)
}

// The other ways to wait.

var Race = cruster.NewWorkflow("Race", race)

func race(ctx cruster.Context, urls []string) (won int, err error) {
	var pages []cruster.Future[int]
	for _, url := range urls {
		pages = append(pages, Fetch.Go(ctx, url))
	}
	first, _, err := cruster.First(ctx, pages...)
	if err != nil {
		return 0, err
	}
	selected := cruster.Select(ctx,
		cruster.On(pages[0], func(_ int, failed error) { err = failed }),
		cruster.After(time.Hour, func() { pages[0].Cancel(ctx) }))
	if err := errors.Join(selected, err); err != nil {
		return 0, err
	}
	pages[0].Cancel(ctx)
	_, err = cruster.All(ctx, pages[1:]...)
	return first, err
}
