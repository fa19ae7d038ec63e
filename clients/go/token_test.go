package client_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
)

// Each call carries the token, a stream too.
func TestCallsCarryTheToken(t *testing.T) {
	t.Parallel()
	carried := make(chan []string, 2)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		brought, _ := metadata.FromIncomingContext(stream.Context())
		carried <- brought.Get("authorization")
		return status.Error(codes.PermissionDenied, "no")
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	c, err := client.Dial(listener.Addr().String(), client.WithToken("open-sesame"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })

	_, err = client.Attach[receipt](c, "shop/Buy/k").Poll(t.Context())
	require.ErrorContains(t, err, "no")
	require.Equal(t, []string{"Bearer open-sesame"}, <-carried)
	_, err = c.Push(t.Context(), client.PushRequest{Name: "shop"})
	require.ErrorContains(t, err, "no")
	require.Equal(t, []string{"Bearer open-sesame"}, <-carried)
}

func TestTokensThatAHeaderCannotHold(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"from-a-file\n", "two words", "gemütlich"} {
		_, err := client.Dial("127.0.0.1:7600", client.WithToken(token))
		require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err), "%q", token)
	}
}
