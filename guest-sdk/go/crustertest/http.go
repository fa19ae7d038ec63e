package crustertest

import (
	"net/url"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func (h *attemptHost) http(b abi.HTTPRequest) (any, error) {
	if h.tx != nil {
		return nil, abi.Errorf(abi.CodeHTTPInTx, "%s %s was called while the transaction of %s is open", b.Method, b.URL, h.name)
	}
	if err := checkURL(b.URL); err != nil {
		return nil, err
	}
	if h.world.cfg.http == nil {
		return nil, h.missing("HTTP", "crustertest.HandleHTTP")
	}
	res, err := h.world.cfg.http(cruster.HTTPRequest{
		Body: b.Body, Headers: b.Headers, Method: b.Method, Timeout: time.Duration(b.Timeout), URL: b.URL,
	})
	if err != nil {
		return nil, abi.Errorf(abi.CodeHTTPFailed, "%s %s: %v", b.Method, b.URL, err)
	}
	return abi.HTTPResponse{Body: res.Body, Headers: res.Headers, Status: res.Status}, nil
}

// httpAll makes the calls one after the other: what a test answers is the same either way.
func (h *attemptHost) httpAll(b abi.HTTPAll) (any, error) {
	reply := abi.HTTPAllReply{Results: []abi.HTTPResult{}}
	for _, one := range b.Requests {
		res, err := h.http(one)
		if coded := abi.CodeOf(err); err != nil && (coded == "" || coded == abi.CodeHTTPInTx) {
			return nil, err // not of this one request
		}
		var result abi.HTTPResult
		if err != nil {
			result.Error = abi.AsError(err)
		} else {
			answer := res.(abi.HTTPResponse)
			result.Response = &answer
		}
		reply.Results = append(reply.Results, result)
	}
	return reply, nil
}

// checkURL refuses addresses that a host refuses, whatever the deployment was
// granted.
func checkURL(raw string) *abi.Error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return abi.Errorf(abi.CodeHTTPBadRequest, "the URL cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return abi.Errorf(abi.CodeHTTPBadRequest, "the URL has the scheme %q", u.Scheme)
	case u.User != nil:
		return abi.Errorf(abi.CodeHTTPBadRequest, "the URL holds a user or password")
	case u.Hostname() == "":
		return abi.Errorf(abi.CodeHTTPBadRequest, "the URL has no host")
	}
	return nil
}
