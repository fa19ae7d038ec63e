package client

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

const (
	defaultRetryFor = 30 * time.Second
	// maxConnectDelay is the most that lies between two tries to connect. It is short against the budgets of calls: a
	// host that is back is found before they end.
	maxConnectDelay = 500 * time.Millisecond
	// window bounds the bytes a host may send unread.
	window = 1 << 20
)

// Client is a connection to a host. It is safe for concurrent use; one a process is enough.
type Client struct {
	conn      *grpc.ClientConn
	namespace string
	retry     retrier
}

type options struct {
	creds     credentials.TransportCredentials
	dial      []grpc.DialOption
	namespace string
	retryFor  time.Duration
	waits     func(forAtMost time.Duration)
	token     string
	shares    *bool // nil if it was not said
}

// An Option configures [Dial].
type Option func(*options)

// WithNamespace sets the tenant of all calls of the client. Defaults to the host's default namespace.
func WithNamespace(namespace string) Option {
	return func(o *options) { o.namespace = namespace }
}

// WithRetryFor bounds for how long a call is repeated when no host answers or the host is full, and
// for how long a call that must not be repeated waits for a connection before it is made; 0 means
// one try, at once. Defaults to 30 seconds. It bounds the time without a host, and begins anew when
// a host has had the call for ten seconds: a call that waits for long outlives any number of
// restarts. The call's context bounds it too.
func WithRetryFor(d time.Duration) Option {
	return func(o *options) { o.retryFor = d }
}

// WithNotice has told be called by each call that finds no host and goes on trying, once each time
// that a host was there before, with the time that it tries for at most: a waiting person wants to
// know the reason. It must not block.
func WithNotice(told func(forAtMost time.Duration)) Option {
	return func(o *options) { o.waits = told }
}

// WithTransportCredentials secures the connection. Defaults to none: the host speaks plain text unless something in
// front of it does not.
func WithTransportCredentials(creds credentials.TransportCredentials) Option {
	return func(o *options) { o.creds = creds }
}

// WithDialOptions adds options of gRPC's own. They may have to do with single calls (credentials that depend on the
// context of a call, statistics), so that calls share no stream unless [WithSharing] says so.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}

// WithSharing says whether calls of entities that are under way at the same time share a stream,
// which costs a fraction of as many RPCs. To the transport, to its credentials and statistics, and to
// proxies, that stream is one RPC. Defaults to true, and to false with [WithDialOptions].
func WithSharing(shares bool) Option {
	return func(o *options) { o.shares = &shares }
}

// sharing tells whether calls share a stream.
func (o *options) sharing() bool {
	if o.shares != nil {
		return *o.shares
	}
	return len(o.dial) == 0
}

// Dial makes a client for the host at addr ("127.0.0.1:7600", or any target that gRPC knows). It does not connect: the
// first call does.
func Dial(addr string, opts ...Option) (*Client, error) {
	o := options{creds: insecure.NewCredentials(), retryFor: defaultRetryFor}
	for _, opt := range opts {
		opt(&o)
	}
	retry := retrier{budget: o.retryFor, waits: o.waits}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(o.creds),
		// Set, so that the transport does not search for the best size by pings.
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithChainUnaryInterceptor(retry.unary),
		grpc.WithChainStreamInterceptor(retry.stream),
		// A call that waits for an execution, or a follower, is silent for long; without pings it would not notice that
		// its host is gone.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxConnectDelay,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
	}, o.dial...)
	if o.sharing() {
		dial = append(dial, grpc.WithChainUnaryInterceptor((&shared{}).unary))
	}
	if o.token != "" {
		token := bearer(o.token)
		if err := token.check(); err != nil {
			return nil, err
		}
		dial = append(dial, grpc.WithPerRPCCredentials(token))
	}
	conn, err := grpc.NewClient(addr, dial...)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "%q is not an address of a host: %v", addr, err)
	}
	return &Client{conn: conn, namespace: o.namespace, retry: retry}, nil
}

// Close ends the connection and every call on it.
func (c *Client) Close() error { return c.conn.Close() }

// Namespace is the tenant of the client's calls; empty means the default one.
func (c *Client) Namespace() string { return c.namespace }

// Deployments is the generated client of the deployment service. It returns the errors of this package.
func (c *Client) Deployments() crusterv1.DeploymentServiceClient {
	return crusterv1.NewDeploymentServiceClient(c.conn)
}

// Workflows is the generated client of the workflow service. It returns the errors of this package.
func (c *Client) Workflows() crusterv1.WorkflowServiceClient {
	return crusterv1.NewWorkflowServiceClient(c.conn)
}

// Deferreds is the generated client of the deferred service. It returns the errors of this package.
func (c *Client) Deferreds() crusterv1.DeferredServiceClient {
	return crusterv1.NewDeferredServiceClient(c.conn)
}

// Schedules is the generated client of the schedule service. It returns the errors of this package.
func (c *Client) Schedules() crusterv1.ScheduleServiceClient {
	return crusterv1.NewScheduleServiceClient(c.conn)
}

// Entities is the generated client of the entity service. It returns the errors of this package.
func (c *Client) Entities() crusterv1.EntityServiceClient {
	return crusterv1.NewEntityServiceClient(c.conn)
}

// Resolve settles a deferred of an execution with a value. A deferred that was settled before answers
// abi.CodeDeferredSettled.
func (c *Client) Resolve(ctx context.Context, execution, deferred string, value any) error {
	data, err := abi.Marshal(value)
	if err != nil {
		return abi.Errorf(abi.CodeBadInput, "the value of %q does not encode: %v", deferred, err)
	}
	_, err = c.Deferreds().ResolveDeferred(ctx, &crusterv1.ResolveDeferredRequest{
		Namespace: c.namespace, Execution: execution, Name: deferred, Value: packed(data),
	})
	return err
}

// Reject settles a deferred of an execution with an error. The type, which may be empty, is for the workflow to switch
// on.
func (c *Client) Reject(ctx context.Context, execution, deferred, message, errorType string) error {
	_, err := c.Deferreds().RejectDeferred(ctx, &crusterv1.RejectDeferredRequest{
		Namespace: c.namespace, Execution: execution, Name: deferred, Message: message, Type: errorType,
	})
	return err
}

func packed(data []byte) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: data}}
}

// RunError says that a workflow did not complete: it failed, was interrupted, or is paused. It wraps the *abi.Error
// that says why.
type RunError struct {
	// Cause is the error that the workflow ended or was paused with.
	Cause *abi.Error
	// Execution is its name.
	Execution string
	// State is failed, interrupted or paused.
	State State
}

func (e *RunError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Execution, e.State, e.Cause)
}

// Unwrap returns the cause, if the host has told it.
func (e *RunError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}
