package cli

import (
	"context"
	"fmt"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// noteEmptyNamespace says on standard error that a list is empty because nothing is deployed in the namespace, whose
// name may be mistyped. That is no error: a namespace is there from its first push on, and scripts may look before it.
func (a *app) noteEmptyNamespace(ctx context.Context, c *client.Client, listed int) {
	if listed > 0 || a.namespace == defaultNamespace {
		return
	}
	resp, err := c.Deployments().ListDeployments(ctx, &crusterv1.ListDeploymentsRequest{Namespace: a.namespace})
	if err == nil && len(resp.GetDeployments()) == 0 {
		a.noteNothingDeployed()
	}
}

func (a *app) noteNothingDeployed() {
	if a.namespace != defaultNamespace {
		fmt.Fprintf(a.stderr, "note: nothing is deployed in namespace %q\n", a.namespace)
	}
}
