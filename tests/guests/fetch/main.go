// Command fetch is a module that fetches as a library does which makes a client of its own.
package main

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/stdhttp"
)

var fetch = cruster.NewActivity("fetch", func(ctx *cruster.ActivityContext, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	with, err := read((&http.Client{}).Do(req))
	if err != nil {
		return "", err
	}
	without, err := read(http.Get(url))
	if _, is := http.DefaultTransport.(*http.Transport); !is {
		return "", cruster.NonRetryable(cruster.Errorf("type", "%T", http.DefaultTransport))
	}
	return with + " " + without, err
})

func read(res *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

var _ = cruster.NewWorkflow("Fetch", func(ctx cruster.Context, url string) (string, error) {
	return fetch.Call(ctx, url)
})

// fetchAll fetches each path in a goroutine of its own.
var fetchAll = cruster.NewActivity("fetchAll", func(ctx *cruster.ActivityContext, urls []string) ([]string, error) {
	client := stdhttp.Client(ctx)
	client.Timeout = 20 * time.Second
	answers := make([]string, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() {
			answer, err := read(client.Get(url))
			if err != nil {
				answer = string(abi.CodeOf(err))
			}
			answers[i] = answer
		})
	}
	all.Wait()
	return answers, nil
})

var _ = cruster.NewWorkflow("FetchAll", func(ctx cruster.Context, urls []string) ([]string, error) {
	return fetchAll.Call(ctx, urls)
})

func main() {}
