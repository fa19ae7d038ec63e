package client

import (
	"context"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/cruster/cruster/abi"
)

// WithToken has each call carry a token, for a proxy in front of the host: "authorization: Bearer
// TOKEN". Use it over an encrypted connection ([WithTransportCredentials]). Defaults to none.
func WithToken(token string) Option {
	return func(o *options) { o.token = token }
}

// bearer is a token that calls carry. It does not insist on an encrypted connection: the host and
// its proxy may be on one machine.
type bearer string

var _ credentials.PerRPCCredentials = bearer("")

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// check refuses characters that a header cannot hold: the end of the line of a file, most often.
func (b bearer) check() error {
	if strings.ContainsFunc(string(b), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return abi.Errorf(abi.CodeBadConfig, "a token has letters, digits and signs alone")
	}
	return nil
}
