package crustertest

import (
	"cmp"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func (h *attemptHost) http(b abi.HTTPRequest) (any, error) {
	if h.tx != nil {
		return nil, abi.Errorf(
			abi.CodeHTTPInTx, "a transaction is open; HTTP would hold it for as long as the other side likes",
		)
	}
	if err := checkHTTP(&b); err != nil {
		return nil, err
	}
	if h.world.cfg.http == nil {
		return nil, h.missing("HTTP", "crustertest.HandleHTTP")
	}
	res, err := h.handle(cruster.HTTPRequest{
		Body: b.Body, Headers: b.Headers, Method: b.Method, Timeout: time.Duration(b.Timeout), URL: b.URL,
	})
	if err != nil {
		return nil, abi.Errorf(abi.CodeHTTPFailed, "%s %s: %v", b.Method, b.URL, err)
	}
	if len(res.Body) > maxHTTPBody {
		return nil, abi.Errorf(
			abi.CodeHTTPTooLarge, "%s %s: the response has more than %d bytes", cmp.Or(b.Method, "GET"), b.URL,
			maxHTTPBody,
		)
	}
	return abi.HTTPResponse{Body: res.Body, Headers: res.Headers, Status: res.Status}, nil
}

// handle has the test answer a call.
func (h *attemptHost) handle(req cruster.HTTPRequest) (res cruster.HTTPResponse, err error) {
	asTest(func() { res, err = h.world.cfg.http(req) })
	return res, err
}

// httpAll makes the calls one after the other: the answers of a test are the same either way. The
// responses share the size limit of one, as on a host.
func (h *attemptHost) httpAll(b abi.HTTPAll) (any, error) {
	reply := abi.HTTPAllReply{Results: []abi.HTTPResult{}}
	left := int64(maxHTTPBody)
	for _, one := range b.Requests {
		res, err := h.http(one)
		if err == nil {
			answer := res.(abi.HTTPResponse)
			if size := abi.ResponseRoom(answer.Headers, int64(len(answer.Body))); size > left {
				err = abi.Errorf(
					abi.CodeHTTPTooLarge, "%s %s: the responses of this call together have more than %d bytes",
					cmp.Or(one.Method, "GET"), one.URL, maxHTTPBody,
				)
			} else {
				left -= size
			}
		}
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
