package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

// maxUploadFile keeps a mistaken path from being read into memory whole; the
// host has the last word on the size of modules.
const maxUploadFile = 1 << 30

func (a *app) moduleCommand() *cobra.Command {
	return group("module", "Push modules and see what is deployed", `Push modules and see what is deployed.

A module is a WebAssembly binary with workflows and activities; a deployment is
the name under which a host runs it.`,
		a.modulePush(), a.moduleList(), a.moduleDescribe())
}

func (a *app) modulePush() *cobra.Command {
	var name string
	var config, allow []string
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Upload a module and point a deployment at it",
		Long: `Upload a module and point a deployment at it. Executions that run go on with the
module they began with; new ones use this one. Nothing is stored if the module is
not acceptable.`,
		Example: `  cruster-host module push orders.wasm --name orders
  cruster-host module push pay.wasm --name pay --config API_KEY=secret --allow-http api.example.com`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return usagef("--name is missing: under which name is %s to be deployed?", filepath.Base(args[0]))
			}
			values, err := parseConfig(config)
			if err != nil {
				return err
			}
			binary, err := readModule(args[0])
			if err != nil {
				return err
			}
			return a.withClient(func(c *client.Client) error {
				d, err := c.Push(cmd.Context(), client.PushRequest{Name: name, Binary: binary, Config: values, AllowHTTP: allow})
				if err != nil {
					return err
				}
				return a.emit(viewDeployment(d), func() error { return a.printPush(d) })
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the deployment")
	cmd.Flags().StringArrayVar(&config, "config", nil, "K=V: a value that activities can read; may be repeated")
	cmd.Flags().StringArrayVar(&allow, "allow-http", nil, "a host that activities may call; may be repeated")
	return cmd
}

func parseConfig(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, usagef("--config takes K=V, not %q", pair)
		}
		values[k] = v
	}
	return values, nil
}

func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, inputf("cannot read the module: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxUploadFile {
		return nil, inputf("%s is not a file of a module", path)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, inputf("cannot read the module: %w", err)
	}
	return binary, nil
}

func (a *app) printPush(d *crusterv1.Deployment) error {
	err := a.lines(line{"deployment", d.GetName()}, line{"version", strconv.FormatInt(d.GetVersion(), 10)},
		line{"digest", shortDigest(d.GetDigest())}, line{"workflows", strings.Join(workflowNames(d), ", ")})
	if err == nil && len(d.GetWorkflows()) > 0 {
		fmt.Fprintf(a.stdout, "\nnext:  %s\n", a.executeLine(d, d.GetWorkflows()[0]))
	}
	return err
}

// executeLine is a command that runs a workflow, ready to be edited.
func (a *app) executeLine(d *crusterv1.Deployment, w *crusterv1.WorkflowInfo) string {
	return fmt.Sprintf("cruster-host workflow execute %s/%s%s --input %s", d.GetName(), w.GetName(), a.addrFlag(), quoteShell(sampleInput(w.GetInput())))
}

// addrFlag is what a suggested command needs to reach the same host.
func (a *app) addrFlag() string {
	if a.addr == defaultAddr || a.addr == os.Getenv("CRUSTER_ADDR") {
		return ""
	}
	return " --addr " + a.addr
}

func workflowNames(d *crusterv1.Deployment) []string {
	var names []string
	for _, w := range d.GetWorkflows() {
		names = append(names, w.GetName())
	}
	return names
}

func (a *app) moduleList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List deployments",
		Long:    "List the deployments of the namespace, by name.",
		Example: "  cruster-host module list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Modules().List(cmd.Context(), &crusterv1.ListModulesRequest{Namespace: a.namespace})
				if err != nil {
					return err
				}
				views, rows := []deploymentView{}, [][]string{}
				for _, d := range resp.GetDeployments() {
					views = append(views, viewDeployment(d))
					rows = append(rows, []string{d.GetName(), strconv.FormatInt(d.GetVersion(), 10), shortDigest(d.GetDigest()), when(d.GetUpdatedAt()), strings.Join(workflowNames(d), ", ")})
				}
				whole := map[string]any{"deployments": views}
				return emitAll(a, views, whole, func() error {
					return a.rows([]string{"NAME", "VERSION", "DIGEST", "UPDATED", "WORKFLOWS"}, rows)
				})
			})
		},
	}
}

func (a *app) moduleDescribe() *cobra.Command {
	return &cobra.Command{
		Use:     "describe NAME",
		Short:   "Show what a deployment contains",
		Long:    "Show what a deployment contains: its workflows and activities with the types of\ntheir requests and results, its grants, and what its module imports.",
		Example: "  cruster-host module describe orders",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Modules().Describe(cmd.Context(), &crusterv1.DescribeModuleRequest{Namespace: a.namespace, Name: args[0]})
				if err != nil {
					return err
				}
				d := resp.GetDeployment()
				return a.emit(viewDeployment(d), func() error { return a.printDeployment(d) })
			})
		},
	}
}

func (a *app) printDeployment(d *crusterv1.Deployment) error {
	err := a.lines(
		line{"name", d.GetName()},
		line{"namespace", d.GetNamespace()},
		line{"version", strconv.FormatInt(d.GetVersion(), 10)},
		line{"digest", d.GetDigest()},
		line{"updated", when(d.GetUpdatedAt())},
		line{"sdk", oneLine(d.GetSdk())},
		line{"config", strings.Join(d.GetConfigKeys(), ", ")},
		line{"allow-http", strings.Join(d.GetAllowHttp(), ", ")},
		line{"imports", importsText(d.GetImports())},
	)
	if err != nil {
		return err
	}
	for _, w := range d.GetWorkflows() {
		fmt.Fprintf(a.stdout, "\nworkflow %s/%s\n  key:     %s\n  request: %s\n  result:  %s\n  run:     %s\n", d.GetName(), w.GetName(), keyText(w.GetKey()),
			renderSchema(w.GetInput(), "  "), renderSchema(w.GetOutput(), "  "), a.executeLine(d, w))
	}
	for _, act := range d.GetActivities() {
		fmt.Fprintf(a.stdout, "\nactivity %s\n  retries: %d\n  request: %s\n  result:  %s\n", act.GetName(), act.GetRetries(),
			renderSchema(act.GetInput(), "  "), renderSchema(act.GetOutput(), "  "))
	}
	return nil
}

// importsText names what a module can ask of Cruster; what its language's runtime
// asks of WASI is the same for all.
func importsText(imports []string) string {
	var names []string
	for _, name := range imports {
		if name, ok := strings.CutPrefix(name, abi.ImportModule+"."); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func keyText(key string) string {
	switch key {
	case "request":
		return "the SHA-256 of the request"
	case "function_hashed":
		return "what the workflow's key function returns, hashed"
	case "function_raw":
		return "what the workflow's key function returns"
	default:
		return oneLine(key)
	}
}
