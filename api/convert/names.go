package convert

import (
	"regexp"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// lowerName is the form of names of namespaces and deployments.
var lowerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Namespace checks the name of a tenant; an empty one is the default tenant.
func Namespace(namespace string) (string, error) {
	if namespace == "" {
		return host.DefaultNamespace, nil
	}
	if !lowerName.MatchString(namespace) {
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q is not a valid name of a namespace", namespace).
			WithHint("Namespaces are lower-case letters, digits and '-', start with a letter and have at most 63 " +
				"characters.")
	}
	return namespace, nil
}

// Target checks the two fields that name an execution, and returns the namespace with the default filled in.
func Target(namespace, execution string) (string, error) {
	namespace, err := Namespace(namespace)
	if err != nil {
		return "", err
	}
	if _, _, ok := journal.ParseName(execution); !ok {
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q is not a valid name of an execution", execution).
			WithHint("Executions are named DEPLOYMENT/WORKFLOW/KEY; 'cruster-host workflow list' shows them.")
	}
	return namespace, nil
}
