// Command crawl fetches many pages, a few at a time, and goes on with the ones in time.
package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// CrawlRequest is the request of Crawl.
type CrawlRequest struct {
	// Run is the key of a crawl.
	Run  string   `json:"run"`
	URLs []string `json:"urls"`
	// AtOnce is how many pages are fetched at the same time. Defaults to 10.
	AtOnce int64 `json:"at_once,omitempty"`
	// DeadlineMS is how long all of it may take, in milliseconds. Defaults to a minute.
	DeadlineMS int64 `json:"deadline_ms,omitempty"`
}

// CrawlResult is the result of Crawl.
type CrawlResult struct {
	Pages int64 `json:"pages"`
	Bytes int64 `json:"bytes"`
	// Failed are the pages that cannot be had.
	Failed []string `json:"failed"`
	// Late are the pages that were not there in time.
	Late []string `json:"late"`
}

// Crawl fetches the pages of a request. Whatever becomes of one of them, it has the others.
var Crawl = cruster.NewWorkflow("Crawl", crawl, cruster.RawKey(func(r CrawlRequest) string { return r.Run }))

func crawl(ctx cruster.Context, req CrawlRequest) (CrawlResult, error) {
	atOnce, deadline := req.AtOnce, time.Duration(req.DeadlineMS)*time.Millisecond
	if atOnce <= 0 {
		atOnce = 10
	}
	if deadline <= 0 {
		deadline = time.Minute
	}
	hurried, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(deadline))
	defer cancel()
	result := CrawlResult{Failed: []string{}, Late: []string{}}
	for i, page := range cruster.MapSettled(hurried, req.URLs, int(atOnce), Fetch.Call) {
		switch {
		case page.Err == nil:
			result.Pages++
			result.Bytes += page.Value
		case errors.Is(page.Err, cruster.ErrInterrupted):
			return result, page.Err
		case errors.Is(page.Err, cruster.ErrTimeout):
			result.Late = append(result.Late, req.URLs[i])
		default:
			result.Failed = append(result.Failed, req.URLs[i])
		}
	}
	return result, nil
}

// Fetch fetches a page, notes its size, and returns it.
var Fetch = cruster.NewActivity("fetch", fetch, cruster.Retries(2), cruster.ConstantBackoff(10*time.Millisecond))

func fetch(ctx *cruster.ActivityContext, url string) (int64, error) {
	page, err := ctx.HTTP().Get(url)
	if err != nil {
		return 0, err
	}
	if page.Status == 404 {
		return 0, cruster.NonRetryable(cruster.Errorf("missing", "%s is not there", url))
	}
	if page.Status != 200 {
		return 0, cruster.Errorf("unavailable", "%s answered %d", url, page.Status)
	}
	size := int64(len(page.Body))
	_, err = ctx.Tx().Exec(
		`INSERT INTO crawl_pages (execution, url, bytes) VALUES ($1, $2, $3)`, ctx.ExecutionID(), url, size,
	)
	return size, err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "pages", SQL: `
CREATE TABLE crawl_pages (
	execution TEXT NOT NULL,
	url       TEXT NOT NULL,
	bytes     BIGINT NOT NULL
)`},
)

func main() {}
