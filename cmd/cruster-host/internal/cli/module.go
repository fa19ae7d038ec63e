package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// maxUploadFile keeps a mistaken path from being read into memory whole; the host has the last word on the size of
// modules.
const maxUploadFile = 1 << 30

func (a *app) moduleCommand() *cobra.Command {
	return group("module", "Push modules and see what is deployed", `Push modules and see what is deployed.

A module is a WebAssembly binary with workflows and activities; a deployment is
the name under which a host runs it.`,
		`  cruster-host module push orders.wasm --name orders
  cruster-host module describe orders`,
		a.modulePush(), a.moduleCheck(), a.moduleList(), a.moduleDescribe())
}

func (a *app) modulePush() *cobra.Command {
	var req client.PushRequest
	var config []string
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Upload a module and point a deployment at it",
		Long: `Upload a module and point a deployment at it. New executions use it. Open ones
stay on the module that they are on, unless --move-open moves them. If the
module is not acceptable, nothing is stored.

--check replays the open executions first, as 'module check' does, and refuses
the module if it does not fit one of them. --move-open moves those that fit,
also paused ones, which then go on; those that do not fit stay as they are, and
the exit code says so.

Configuration and HTTP grants stay as they are, but for what the push sets or
takes away: --config and --allow-http add to them, --unset-config and
--revoke-http take one away, --replace-config and --replace-http all that are
not given. If the deployment has open executions, which may use what is taken
away, that is refused without --force. So is code that has no place any more for
a field of the states of entities.

` + exitHelp,
		Example: `  cruster-host module push orders.wasm --name orders
  cruster-host module push pay.wasm --name pay --config API_KEY=secret \
    --allow-http api.example.com
  cruster-host module push pay.wasm --name pay --unset-config API_KEY --force
  cruster-host module push orders.wasm --name orders --check --move-open`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.Name == "" {
				return usage.Errorf("--name is missing: under which name do you deploy %s?", filepath.Base(args[0]))
			}
			var err error
			if req.Config, err = parseConfig(config); err != nil {
				return err
			}
			if req.Binary, err = readModule(args[0]); err != nil {
				return err
			}
			return a.withClient(func(c *client.Client) error {
				size := view.SizeOf(req.Binary)
				line := newProgress(a.stderr, "pushed")
				req.Sent = line.sent(len(req.Binary))
				resp, err := c.Push(cmd.Context(), req)
				line.end()
				if err != nil {
					return err
				}
				err = a.emit(view.PushOf(resp, size, req.MoveOpen), func() error {
					return view.WritePush(a.stdout, resp, size, req.MoveOpen, a.addrFlag())
				})
				if err != nil {
					return err
				}
				return unmovedBy(resp)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Name, "name", "", "name of the deployment")
	flags.BoolVar(&req.Check, "check", false, "refuse the module if it does not fit the open executions")
	flags.BoolVar(&req.MoveOpen, "move-open", false, "move the open executions that fit to the module")
	flags.StringArrayVar(&config, "config", nil, "K=V: a value that activities can read; may be repeated")
	flags.StringArrayVar(&req.UnsetConfig, "unset-config", nil, "K: a value to take away; may be repeated")
	flags.BoolVar(&req.ReplaceConfig, "replace-config", false, "take away the values that are not given with --config")
	flags.StringArrayVar(&req.AllowHTTP, "allow-http", nil, "a host that activities may call; may be repeated")
	flags.StringArrayVar(&req.RevokeHTTP, "revoke-http", nil, "a host that they may not call any more; may be repeated")
	flags.BoolVar(&req.ReplaceHTTP, "replace-http", false, "take away the grants that are not given with --allow-http")
	flags.BoolVar(
		&req.TakeAway, "force", false,
		"deploy it although it takes away settings that open executions may use, or does not fit states of entities "+
			"or what is sent to them",
	)
	return cmd
}

// unmovedBy is the error of a push that was to move open executions, and did not move all of them.
// The answer has only the first unmoved one.
func unmovedBy(resp *crusterv1.PushResult) error {
	if resp.GetUnmoved() == 0 {
		return nil
	}
	var causes unmovedCauses
	for range resp.GetUnmoved() {
		causes.add(resp.GetFirstUnmoved().GetError())
	}
	return causes.err(int(resp.GetMoved()+resp.GetUnmoved()), "open executions were not moved; the module is deployed")
}

func parseConfig(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, usage.Errorf("--config takes K=V, not %q", pair)
		}
		values[k] = v
	}
	return values, nil
}

func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage.Inputf("cannot read the module: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxUploadFile {
		return nil, usage.Inputf("%s is not the file of a module", path)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, usage.Inputf("cannot read the module: %w", err)
	}
	return binary, nil
}

func (a *app) moduleList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List deployments",
		Long: `List the deployments of the namespace, by name. A namespace is there from its
first push on: one without deployments lists nothing, and is no error.`,
		Example: "  cruster-host module list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Deployments().ListDeployments(
					cmd.Context(), &crusterv1.ListDeploymentsRequest{Namespace: a.namespace},
				)
				if err != nil {
					return err
				}
				if len(resp.GetDeployments()) == 0 {
					a.noteNothingDeployed()
				}
				views := []view.Deployment{}
				for _, d := range resp.GetDeployments() {
					views = append(views, view.DeploymentOf(d))
				}
				whole := map[string]any{"deployments": views}
				return emitAll(a, views, whole, func() error {
					return view.WriteDeployments(a.stdout, resp.GetDeployments())
				})
			})
		},
	}
}

func (a *app) moduleDescribe() *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show what a deployment contains",
		Long: `Show what a deployment contains: its workflows and activities with the types of
their requests and results, the schedules that its module declares, its grants,
and what its module imports.`,
		Example: "  cruster-host module describe orders",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Deployments().GetDeployment(cmd.Context(), &crusterv1.GetDeploymentRequest{
					Namespace: a.namespace, Name: args[0],
				})
				if err != nil {
					return err
				}
				declared, err := a.declaredSchedules(cmd, c, args[0])
				if err != nil {
					return err
				}
				d := resp.GetDeployment()
				v := view.DeploymentOf(d)
				v.Schedules = view.SchedulesOf(declared)
				return a.emit(v, func() error {
					return errors.Join(
						view.WriteDeployment(a.stdout, d, a.addrFlag()), view.WriteDeclared(a.stdout, declared),
					)
				})
			})
		},
	}
}

// declaredSchedules returns the schedules that the module of a deployment declares, as they are
// now. Schedules are listed by name, and theirs begin with the deployment's.
func (a *app) declaredSchedules(
	cmd *cobra.Command, c *client.Client, deployment string,
) (declared []*crusterv1.Schedule, err error) {
	for after := deployment + "/"; after != ""; {
		page, next, err := a.listSchedules(cmd, c, after, pageLimit)
		if err != nil {
			return nil, err
		}
		others := slices.IndexFunc(page, func(s *crusterv1.Schedule) bool {
			return !strings.HasPrefix(s.GetName(), deployment+"/")
		})
		if others >= 0 {
			return append(declared, page[:others]...), nil
		}
		declared, after = append(declared, page...), next
	}
	return declared, nil
}
