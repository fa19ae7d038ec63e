package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// A proxy in front of a host may ask for an encrypted connection and a token. A client trusts the
// certificate that it is given and no other, and each call carries the token. A deadline ends the
// waiting, with its own code.
func TestTokensAndCertificates(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, l language) {
		program := l.program(t, "secure")
		certificate, file := selfSigned(t)
		addr := gate(t, certificate)
		r := run(t, program, "CRUSTER_ADDR="+addr, "CRUSTER_CERTIFICATE="+file, "CRUSTER_TOKEN=open-sesame")
		r.says("CR-2004: shop asks with Bearer open-sesame (look again)", "CR-5008")
		r.ends()

		_, other := selfSigned(t)
		r = run(
			t, l.program(t, "secure"), "CRUSTER_ADDR="+addr, "CRUSTER_CERTIFICATE="+other, "CRUSTER_TOKEN=open-sesame",
		)
		require.True(t, r.lines.Scan())
		require.Contains(t, r.lines.Text(), "CR-5010: no host answers")
	})
}

// gate is a server that echoes the metadata of a call, and never answers a call that waits.
func gate(t *testing.T, certificate tls.Certificate) (addr string) {
	t.Helper()
	handler := func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		if method == crusterv1.WorkflowService_WaitExecution_FullMethodName {
			<-stream.Context().Done()
			return status.FromContextError(stream.Context().Err()).Err()
		}
		req := &crusterv1.GetExecutionRequest{}
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		brought, _ := metadata.FromIncomingContext(stream.Context())
		e := abi.Errorf(
			abi.CodeExecutionNotFound, "%s asks with %s", req.GetNamespace(), brought.Get("authorization")[0],
		)
		e.Hint = "look again"
		return rpcerror.Status(e, 0).Err()
	}
	server := grpc.NewServer(
		grpc.Creds(credentials.NewServerTLSFromCert(&certificate)), grpc.UnknownServiceHandler(handler),
	)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// selfSigned makes a certificate for this machine, and a file with it.
func selfSigned(t *testing.T) (certificate tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gate"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "gate.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
