package cli

import (
	"strings"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// parseWhere reads conditions such as customer=ada and amount>=100.
func parseWhere(texts []string) (conditions []*crusterv1.Condition, err error) {
	for _, text := range texts {
		at := strings.IndexAny(text, "=<>")
		if at < 1 {
			return nil, usage.Errorf("--where %q is not a condition such as customer=ada or 'amount>=100'", text)
		}
		operator := text[at : at+1]
		if operator != "=" && strings.HasPrefix(text[at+1:], "=") {
			operator += "="
		}
		conditions = append(conditions, &crusterv1.Condition{
			Name: strings.TrimSpace(text[:at]), Operator: operator,
			Value: &crusterv1.Condition_Literal{Literal: strings.TrimSpace(text[at+len(operator):])},
		})
	}
	return conditions, nil
}
