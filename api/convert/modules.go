package convert

import (
	"regexp"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
)

// digest is a digest of a module, or as much of its beginning as tables show.
var digest = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

// DeploymentName checks the name of a deployment.
func DeploymentName(name string) error {
	if !lowerName.MatchString(name) {
		return abi.Errorf(abi.CodeBadDeployment, "%.80q is not a valid name of a deployment", name)
	}
	return nil
}

// ModuleReference checks a module reference: host.Latest, a digest or the beginning of one; an
// empty one is otherwise.
func ModuleReference(to, otherwise string) (string, error) {
	switch {
	case to == "":
		return otherwise, nil
	case to != host.Latest && !digest.MatchString(to):
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q names no module", to).
			WithHint("Write %q, or the digest of a module: lower-case hex, the first 4 digits or more.", host.Latest)
	default:
		return to, nil
	}
}

// WorkflowGroup checks a reference to one workflow, "deployment/Workflow", or all of a deployment,
// "deployment/".
func WorkflowGroup(workflow string) error {
	deployment, name, ok := strings.Cut(workflow, "/")
	if !ok || !lowerName.MatchString(deployment) || len(name) > abi.MaxName || strings.Contains(name, "/") {
		return abi.Errorf(abi.CodeBadRequest, "%.150q names neither a workflow nor a deployment", workflow).
			WithHint("Write DEPLOYMENT/WORKFLOW, or DEPLOYMENT/ for all workflows of a deployment.")
	}
	return nil
}
