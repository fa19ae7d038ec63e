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
	client "github.com/cruster/cruster/clients/go"
)

// shopHost stands for a host that runs the deployment "shop".
func shopHost() (addr string, stop func()) {
	workflows := &fakeWorkflows{host: &fakeHost{}}
	workflows.host.execute = func(req *crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		var o order
		if err := abi.Unmarshal(req.GetStart().GetInput().GetMsgpack(), &o); err != nil {
			return nil, err
		}
		if o.Price > 100 {
			e := abi.Errorf(abi.CodeWorkflowFailed, "the card was declined")
			e.Type = "card_declined"
			return &crusterv1.StartExecutionResponse{
				Execution: &crusterv1.Execution{
					Name: "shop/Buy/" + o.ID, State: crusterv1.State_STATE_FAILED, Error: rpcerror.ToProto(e),
				},
			}, nil
		}
		return &crusterv1.StartExecutionResponse{Execution: completed(receipt{1001})}, nil
	}
	workflows.start = func(req *crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		return &crusterv1.StartExecutionResponse{
			Execution: &crusterv1.Execution{
				Name: "shop/Buy/" + req.GetStart().GetRawKey(), State: crusterv1.State_STATE_RUNNING,
			},
		}, nil
	}
	workflows.wait = func(*crusterv1.WaitExecutionRequest) (*crusterv1.WaitExecutionResponse, error) {
		return &crusterv1.WaitExecutionResponse{Execution: completed(receipt{1002})}, nil
	}
	workflows.move = func(req *crusterv1.MoveExecutionRequest) (*crusterv1.MoveExecutionResponse, error) {
		if req.GetExecution() == "shop/Buy/45" {
			st := rpcerror.Status(abi.Errorf(abi.CodeDoesNotFit, "the module does not fit shop/Buy/45"), 0)
			diff := &crusterv1.Diff{
				Rows: []*crusterv1.DiffRow{{
					Journal: "activity charge", Code: "activity ship", Note: "the code leaves out what has run",
				}},
			}
			return nil, rpcerror.WithDiff(st, diff).Err()
		}
		moved := &crusterv1.Execution{Name: req.GetExecution(), Digest: "c0ffee"}
		return &crusterv1.MoveExecutionResponse{Execution: moved}, nil
	}
	workflows.fork = func(req *crusterv1.ForkExecutionRequest) (*crusterv1.ForkExecutionResponse, error) {
		return &crusterv1.ForkExecutionResponse{Execution: &crusterv1.Execution{Name: "shop/Buy/" + req.GetKey()}}, nil
	}
	workflows.host.check = func(
		_ *crusterv1.CheckModuleMetadata, _ []byte, send func(*crusterv1.CheckModuleResponse) error,
	) error {
		for i, name := range []string{"shop/Buy/44", "shop/Buy/45"} {
			err := send(&crusterv1.CheckModuleResponse{
				Done: uint32(i + 1), Total: 2, Execution: &crusterv1.Execution{Name: name}, Fits: i == 0,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	server := grpc.NewServer()
	crusterv1.RegisterDeploymentServiceServer(server, workflows.host)
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

// Start a workflow under a key of one's own, and wait for it later, from anywhere.
func ExampleAttach() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	run, err := client.Workflow[order, receipt](c, "shop/Buy").WithKeyRaw("order-44").Start(context.Background(), order{
		ID: "44",
	})
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

// See which executions could be moved to a module before it is deployed.
func ExampleClient_Check() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	module := []byte("…") // the fixed module, as it was built
	for r, err := range c.Check(context.Background(), client.CheckRequest{Name: "shop", Binary: module}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d of %d: %s fits: %v\n", r.GetDone(), r.GetTotal(), r.GetExecution().GetName(), r.GetFits())
	}
	// Output:
	// 1 of 2: shop/Buy/44 fits: true
	// 2 of 2: shop/Buy/45 fits: false
}

// Have an execution go on with the module that was deployed last. An execution that does not fit stays as it is.
func ExampleClient_Move() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	for _, execution := range []string{"shop/Buy/44", "shop/Buy/45"} {
		moved, err := c.Move(context.Background(), execution, client.Latest)
		var misfit *client.Misfit
		switch {
		case errors.As(err, &misfit):
			for _, row := range misfit.Diff.GetRows() {
				fmt.Printf("journal: %s, code: %s (%s)\n", row.GetJournal(), row.GetCode(), row.GetNote())
			}
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(moved.GetName(), "goes on with", moved.GetDigest())
		}
	}
	// Output:
	// shop/Buy/44 goes on with c0ffee
	// journal: activity charge, code: activity ship (the code leaves out what has run)
}

// Run the rest of an execution again, from an entry of its journal on.
func ExampleRun_Fork() {
	addr, stop := shopHost()
	defer stop()
	c, err := client.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	failed := client.Attach[receipt](c, "shop/Buy/44")
	again, err := failed.Fork(context.Background(), client.ForkRequest{At: 7, To: client.Latest, Key: "44-again"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := again.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Execution(), "receipt", r.Number)
	// Output: shop/Buy/44-again receipt 1002
}
