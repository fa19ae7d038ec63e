package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/client"
)

// shopHost stands for a host that runs the deployment "shop".
func shopHost() (addr string, stop func()) {
	workflows := &fakeWorkflows{host: &fakeHost{}}
	workflows.host.execute = func(req *crusterv1.ExecuteRequest) (*crusterv1.ExecuteResponse, error) {
		var o order
		if err := abi.Unmarshal(req.GetStart().GetInput().GetMsgpack(), &o); err != nil {
			return nil, err
		}
		if o.Price > 100 {
			e := abi.Errorf(abi.CodeWorkflowFailed, "the card was declined")
			e.Type = "card_declined"
			return &crusterv1.ExecuteResponse{Execution: &crusterv1.Execution{Name: "shop/Buy/" + o.ID, State: crusterv1.State_STATE_FAILED, Error: rpcerror.ToProto(e)}}, nil
		}
		return &crusterv1.ExecuteResponse{Execution: completed(receipt{1001})}, nil
	}
	workflows.start = func(req *crusterv1.StartRequest) (*crusterv1.StartResponse, error) {
		return &crusterv1.StartResponse{Execution: &crusterv1.Execution{Name: "shop/Buy/" + req.GetStart().GetRawKey(), State: crusterv1.State_STATE_RUNNING}}, nil
	}
	workflows.wait = func(*crusterv1.WaitRequest) (*crusterv1.WaitResponse, error) {
		return &crusterv1.WaitResponse{Execution: completed(receipt{1002})}, nil
	}
	server := grpc.NewServer()
	crusterv1.RegisterWorkflowServiceServer(server, workflows)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Stop
	}()
	return listener.Addr().String(), func() {
		server.Stop()
		<-done
	}
}

// Run a workflow and wait for its result.
func ExampleWorkflow() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	buy := client.Workflow[order, receipt](c, "shop/Buy")
	r, err := buy.Execute(context.Background(), order{ID: "42", Price: 9.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("receipt", r.Number)
	// Output: receipt 1001
}

// Tell a workflow that failed from a call that failed.
func ExampleRunError() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	_, err = client.Workflow[order, receipt](c, "shop/Buy").Execute(context.Background(), order{ID: "43", Price: 1000})
	var failed *client.RunError
	if errors.As(err, &failed) {
		fmt.Println(failed.Execution, failed.State, failed.Cause.Type)
	}
	// Output: shop/Buy/43 failed card_declined
}

// Start a workflow under a key of one's own, and wait for it later, from
// anywhere.
func ExampleAttach() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	run, err := client.Workflow[order, receipt](c, "shop/Buy").WithKeyRaw("order-44").Start(context.Background(), order{ID: "44"})
	if err != nil {
		fmt.Println(err)
		return
	}
	name := run.Execution() // keep it wherever you like
	r, err := client.Attach[receipt](c, name).Wait(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(name, "receipt", r.Number)
	// Output: shop/Buy/order-44 receipt 1002
}
