package crustertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://a", "https://a.b:1/c?d#e", "http://[::1]/"} {
		_, err := checkURL(url)
		require.Nil(t, err, url)
	}
	for _, url := range []string{
		"", "a", "/a", "gopher://x", "http://", "http:///a", "https://user:secret@a/", "http://a b/", "http:a",
		"http://127.1/", "http://a:0/", "http://a:/", "http://a..b/", "http://-a/", "http://ä/",
		"http://[fe80::1%25eth0]/",
		"http://a/" + strings.Repeat("x", maxURL), "http://a/\xff",
	} {
		_, err := checkURL(url)
		require.NotNil(t, err, url)
		require.Equal(t, abi.CodeHTTPBadRequest, err.Code)
	}
}

// Several responses share the size limit of one. Their overhead besides the bodies is in
// abi/ABI.md.
func TestResponsesShareRoom(t *testing.T) {
	t.Parallel()
	const besides = 32 + len("X-A") + len("1") + 32 // the response and its header
	const half = maxHTTPBody/2 - besides
	for name, c := range map[string]struct {
		second int
		code   abi.Code
	}{
		"they just fit":     {half, ""},
		"one byte too many": {half + 1, abi.CodeHTTPTooLarge},
	} {
		sizes := map[string]int{"http://a/1": half, "http://a/2": c.second, "http://a/3": 0}
		h := &attemptHost{world: &world{cfg: &config{http: func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			return cruster.HTTPResponse{
				Status: 200, Body: make([]byte, sizes[r.URL]), Headers: []abi.Header{{Name: "X-A", Value: "1"}},
			}, nil
		}}}}
		reply, err := h.httpAll(abi.HTTPAll{
			Requests: abi.HTTPRequests{{URL: "http://a/1"}, {URL: "http://a/2"}, {URL: "http://a/3"}},
		})
		require.NoError(t, err, name)
		results := reply.(abi.HTTPAllReply).Results
		require.Len(t, results, 3)
		require.Nil(t, results[0].Error, name)
		if c.code == "" {
			require.Nil(t, results[1].Error, name)
			require.Equal(t, abi.CodeHTTPTooLarge, results[2].Error.Code, name)
			continue
		}
		require.Equal(t, c.code, results[1].Error.Code, name)
		require.Equal(
			t, "GET http://a/2: the responses of this call together have more than 3670016 bytes",
			results[1].Error.Message,
		)
		require.Nil(t, results[2].Error, "there is room for a smaller one")
	}
}

// Requests that a host refuses to send.
func TestCheckHTTP(t *testing.T) {
	t.Parallel()
	header := func(name, value string) abi.HTTPRequest {
		return abi.HTTPRequest{URL: "http://a/", Headers: []abi.Header{{Name: name, Value: value}}}
	}
	for text, b := range map[string]abi.HTTPRequest{
		"": {URL: "http://a/", Body: make([]byte, maxHTTPBody), Headers: []abi.Header{{Name: "X-A", Value: "ä"}}},
		"the request to http://a/ has 3670017 bytes": {
			URL: "http://a/?secret", Body: make([]byte, maxHTTPBody+1),
		},
		"the timeout is negative":                            {URL: "http://a/", Timeout: -1},
		`the method "a b" is not a token`:                    {URL: "http://a/", Method: "a b"},
		"the method TRACE is not available to modules":       {URL: "http://a/", Method: "trace"},
		"101 headers are more than 100":                      {URL: "http://a/", Headers: make([]abi.Header, 101)},
		"the headers have more than 65536 bytes":             header("X", strings.Repeat("v", maxHeaderBytes)),
		`the header name "X " is not a token`:                header("X ", "v"),
		"the header Host is not available to modules":        header("host", "v"),
		"the header Proxy-X is not available to modules":     header("proxy-x", "v"),
		"the value of the header X holds control characters": header("X", "a\nb"),
	} {
		err := checkHTTP(&b)
		if text == "" {
			require.Nil(t, err)
			continue
		}
		require.NotNil(t, err, text)
		require.Contains(t, err.Message, text)
	}
}
