package egress

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{}, hello)
	header := func(name, value string) abi.HTTPRequest {
		return abi.HTTPRequest{URL: b.server.URL, Headers: []abi.Header{{Name: name, Value: value}}}
	}
	at := func(url string) abi.HTTPRequest { return abi.HTTPRequest{URL: url} }
	for name, req := range map[string]abi.HTTPRequest{
		"no url":            at(""),
		"relative":          at("/x"),
		"no host":           at("http://"),
		"opaque":            at("http:127.0.0.1"),
		"ftp":               at("ftp://" + b.host),
		"file":              at("file:///etc/passwd"),
		"unix":              at("unix:///run/x.sock"),
		"userinfo":          at("http://user:secret@" + b.host),
		"empty userinfo":    at("http://@" + b.host),
		"empty port":        at("http://127.0.0.1:/"),
		"port 0":            at("http://127.0.0.1:0/"),
		"port 99999":        at("http://127.0.0.1:99999/"),
		"short address":     at("http://127.1:" + b.port),
		"decimal address":   at("http://2130706433:" + b.port),
		"hex address":       at("http://0x7f000001:" + b.port),
		"octal address":     at("http://0177.0.0.1:" + b.port),
		"zone":              at("http://[fe80::1%25eth0]/"),
		"escaped host":      at("http://127%2e0.0.1:" + b.port),
		"unicode dots":      at("http://127。0。0。1:" + b.port),
		"line break":        at(b.server.URL + "/\r\nX: y"),
		"long url":          at(b.server.URL + "/" + strings.Repeat("x", maxURL)),
		"not utf-8":         at(b.server.URL + "/\xff"),
		"CONNECT":           {URL: b.server.URL, Method: "CONNECT"},
		"trace":             {URL: b.server.URL, Method: "trace"},
		"method injection":  {URL: b.server.URL, Method: "GET / HTTP/1.1\r\nX:"},
		"negative timeout":  {URL: b.server.URL, Timeout: -1},
		"host":              header("host", "internal"),
		"connection":        header("Connection", "close"),
		"transfer-encoding": header("transfer-encoding", "chunked"),
		"content-length":    header("Content-Length", "5"),
		"te":                header("TE", "trailers"),
		"trailer":           header("Trailer", "x"),
		"upgrade":           header("Upgrade", "websocket"),
		"expect":            header("Expect", "100-continue"),
		"keep-alive":        header("Keep-Alive", "1"),
		"proxy":             header("Proxy-Authorization", "x"),
		"empty name":        header("", "x"),
		"name with space":   header("X Y", "x"),
		"name with colon":   header("X:", "x"),
		"value injection":   header("X", "a\r\nHost: internal"),
		"value with nul":    header("X", "a\x00"),
		"big header":        header("X", strings.Repeat("x", maxHeaderBytes)),
		"many headers":      {URL: b.server.URL, Headers: make([]abi.Header, maxHeaders+1)},
	} {
		_, fault := b.client.Do(t.Context(), b.policy, req)
		require.NotNil(t, fault, name)
		require.Equal(t, abi.CodeHTTPBadRequest, fault.Code, "%s: %s", name, fault.Message)
		require.NotContains(t, fault.Message, "secret", name)
	}
	require.Zero(t, b.hits.Load())
}
