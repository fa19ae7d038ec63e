package cruster

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// HTTPClient makes HTTP calls from an activity, or from an entity without a state; see [ActivityContext.HTTP] and
// [RPCContext.HTTP]. A module has no sockets: the Cruster host makes the call, if the deployment was granted the
// server's host name.
type HTTPClient struct {
	effects effects
}

// Header is one header line of a request or response.
type Header = abi.Header

// HTTPRequest is a request.
type HTTPRequest struct {
	// Body of the request; may be nil.
	Body []byte
	// Headers are sent in this order.
	Headers []Header
	// Method defaults to GET.
	Method string
	// Timeout bounds the call. Defaults to the host's limit.
	Timeout time.Duration
	// URL is absolute, http or https.
	URL string
}

// HTTPResponse is the response to a request, whatever its status.
type HTTPResponse struct {
	Body    []byte
	Headers []Header
	Status  int
}

// Do makes a call. It returns an error if there was no response. A response with a status such as 404 is not an error;
// see [HTTPResponse.Err].
func (c *HTTPClient) Do(r HTTPRequest) (HTTPResponse, error) {
	var reply abi.HTTPResponse
	err := c.effects.do(&callHTTP, r.body(), &reply)
	return responseOf(reply), err
}

// HTTPResult is the outcome of one request of [HTTPClient.DoAll]: a response, or the error that
// [HTTPClient.Do] would have returned.
type HTTPResult struct {
	Err      error
	Response HTTPResponse
}

// DoAll makes several calls at the same time, and returns when each has its result. These are in
// the order of the requests. There are at most 64 requests, and the responses together have the
// size limit of a single response.
func (c *HTTPClient) DoAll(requests ...HTTPRequest) ([]HTTPResult, error) {
	all := abi.HTTPAll{Requests: make(abi.HTTPRequests, len(requests))}
	for i, r := range requests {
		all.Requests[i] = r.body()
	}
	var reply abi.HTTPAllReply
	if err := c.effects.do(&callHTTPAll, all, &reply); err != nil {
		return nil, err
	}
	results := make([]HTTPResult, len(reply.Results))
	for i, r := range reply.Results {
		switch {
		case r.Error != nil:
			results[i].Err = r.Error
		case r.Response != nil:
			results[i].Response = responseOf(*r.Response)
		}
	}
	return results, nil
}

func (r HTTPRequest) body() abi.HTTPRequest {
	if r.Method == "" {
		r.Method = "GET"
	}
	return abi.HTTPRequest{Body: r.Body, Headers: r.Headers, Method: r.Method, Timeout: int64(r.Timeout), URL: r.URL}
}

func responseOf(r abi.HTTPResponse) HTTPResponse {
	return HTTPResponse{Body: r.Body, Headers: r.Headers, Status: r.Status}
}

// Get fetches a URL.
func (c *HTTPClient) Get(url string, headers ...Header) (HTTPResponse, error) {
	return c.Do(HTTPRequest{URL: url, Headers: headers})
}

// Post sends a body.
func (c *HTTPClient) Post(url, contentType string, body []byte, headers ...Header) (HTTPResponse, error) {
	all := append([]Header{{Name: "Content-Type", Value: contentType}}, headers...)
	return c.Do(HTTPRequest{Method: "POST", URL: url, Headers: all, Body: body})
}

// PostJSON sends v as JSON.
func (c *HTTPClient) PostJSON(url string, v any, headers ...Header) (HTTPResponse, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return HTTPResponse{}, fmt.Errorf("encode the body of POST %s: %w", url, err)
	}
	return c.Post(url, "application/json", body, headers...)
}

// Header is the first value of a header; empty if there is none.
func (r HTTPResponse) Header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// JSON decodes the body into v.
func (r HTTPResponse) JSON(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("decode the body of the response: %w", err)
	}
	return nil
}

// Err is nil for a status below 400. Otherwise it is an [Error] of type "http_status". It is retryable for a status
// that may be temporary: 408, 425, 429, and 500 or above.
func (r HTTPResponse) Err() error {
	if r.Status < 400 {
		return nil
	}
	e := Errorf("http_status", "the answer has status %d", r.Status)
	if body := excerpt(r.Body); body != "" {
		e.Message += ": " + body
	}
	e.Retryable = r.Status == 408 || r.Status == 425 || r.Status == 429 || r.Status >= 500
	return e
}

// excerpt is the beginning of a body, as text for a message.
func excerpt(body []byte) string {
	const most = 200
	text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), most)]), ""))
	if len(body) > most {
		text += "…"
	}
	return text
}
