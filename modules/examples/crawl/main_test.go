package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

// TestCrawl: 200 pages, ten at a time and a second each, but for a missing one; late pages are named.
func TestCrawl(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	req := CrawlRequest{Run: "r", DeadlineMS: 15_500}
	for i := range 200 {
		req.URLs = append(req.URLs, fmt.Sprintf("https://example.com/%d", i))
	}
	var h crustertest.History
	got, err := crustertest.Run(t, Crawl, req, crustertest.SQLite(db), crustertest.Record(&h),
		crustertest.Takes(Fetch, time.Second),
		crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			if r.URL == "https://example.com/7" {
				return cruster.HTTPResponse{Status: 404}, nil
			}
			return cruster.HTTPResponse{Status: 200, Body: []byte("page")}, nil
		}))
	require.NoError(t, err)
	require.Equal(
		t, CrawlResult{Pages: 149, Bytes: 4 * 149, Failed: []string{"https://example.com/7"}, Late: req.URLs[150:]},
		got,
	)
	require.Equal(t, 15_500*time.Millisecond, h.Duration())
	crustertest.Replay(t, &h)
}
