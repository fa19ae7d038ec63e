package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// noon is when everything in the fake host happened.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// runCommands runs the commands of a file of testdata against a fake host. The input of "run" is a
// command line without the name of the program, in which single quotes keep a word together;
// stdin=TEXT is its standard input. The output shows the exit code if it is not 0, the requests to
// the host, standard output, and standard error after "stderr:".
func runCommands(t *testing.T, path string) {
	t.Helper()
	fake := &fakeHost{looks: make(chan struct{}, 2)}
	addr := fake.start(t)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "run" {
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		var stdin string
		d.MaybeScanArgs(t, "stdin", &stdin)
		var out, errs strings.Builder
		code := Run(t.Context(), Process{
			Args: words(d.Input), LookupEnv: environment("CRUSTER_ADDR="+addr, "CRUSTER_RETRY_FOR=0s"),
			Stderr: &errs, Stdin: strings.NewReader(stdin), Stdout: &out, quiet: time.Hour,
			now: func() time.Time { return noon.Add(time.Minute) },
		})
		var shown strings.Builder
		if code != 0 {
			fmt.Fprintf(&shown, "exit code %d\n", code)
		}
		for _, asked := range fake.forget() {
			fmt.Fprintf(&shown, "asked: %s\n", asked)
		}
		shown.WriteString(out.String())
		if errs.Len() > 0 {
			shown.WriteString("stderr:\n" + errs.String())
		}
		return strings.ReplaceAll(shown.String(), addr, "HOST:PORT")
	})
}

// words splits a command line at spaces outside of single quotes.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// fakeHost answers as a host would that has one deployment, shop, and a few executions of its workflow Buy. Their keys
// name their states.
type fakeHost struct {
	mu    sync.Mutex
	asked []string      // the calls since forget, guarded by mu
	looks chan struct{} // each look at the waits
}

// look counts a look at the waits, unless there were enough.
func (f *fakeHost) look() {
	select {
	case f.looks <- struct{}{}:
	default:
	}
}

// awaitLooks returns after two looks at the waits.
func (f *fakeHost) awaitLooks(ctx context.Context) error {
	for range 2 {
		select {
		case <-f.looks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *fakeHost) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

// forget returns the calls that were noted, and starts anew.
func (f *fakeHost) forget() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *fakeHost) start(t *testing.T) (addr string) {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(f.record))
	crusterv1.RegisterDeploymentServiceServer(server, &fakeModules{host: f})
	crusterv1.RegisterWorkflowServiceServer(server, fakeWorkflows{host: f})
	crusterv1.RegisterDeferredServiceServer(server, fakeDeferreds{})
	crusterv1.RegisterEntityServiceServer(server, fakeEntities{host: f})
	crusterv1.RegisterScheduleServiceServer(server, fakeSchedules{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

// drawnID is a request id that a command has drawn, in JSON.
var drawnID = regexp.MustCompile(`"requestId":"[A-Z2-7]{26}"`)

// record notes a call with its request, in a form that does not vary.
func (f *fakeHost) record(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	raw, err := protojson.Marshal(req.(proto.Message))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil { // the spaces of protojson vary on purpose
		return nil, err
	}
	known := drawnID.ReplaceAll(text.Bytes(), []byte(`"requestId":"DRAWN"`))
	f.note("%s %s", strings.TrimPrefix(info.FullMethod, "/cruster.v1."), known)
	return handler(ctx, req)
}

func refused(code abi.Code, format string, args ...any) error {
	return rpcerror.Status(abi.Errorf(code, format, args...).WithHint("What to do about %s.", code), 0).Err()
}

type fakeDeferreds struct {
	crusterv1.UnimplementedDeferredServiceServer
}

func (fakeDeferreds) ResolveDeferred(
	_ context.Context, req *crusterv1.ResolveDeferredRequest,
) (*crusterv1.ResolveDeferredResponse, error) {
	return &crusterv1.ResolveDeferredResponse{}, unsettled(req.GetName())
}

func (fakeDeferreds) RejectDeferred(
	_ context.Context, req *crusterv1.RejectDeferredRequest,
) (*crusterv1.RejectDeferredResponse, error) {
	return &crusterv1.RejectDeferredResponse{}, unsettled(req.GetName())
}

func unsettled(name string) error {
	if name == "settled" {
		return refused(abi.CodeDeferredSettled, "the deferred %q was settled before", name)
	}
	return nil
}
