package abi

import "slices"

// Query finds a query that the workflow answers.
func (w *WorkflowInfo) Query(name string) (*QueryInfo, error) {
	if i := slices.IndexFunc(w.Queries, func(q QueryInfo) bool { return q.Name == name }); i >= 0 {
		return &w.Queries[i], nil
	}
	names := make([]string, len(w.Queries))
	for i, q := range w.Queries {
		names[i] = q.Name
	}
	return nil, undeclared(CodeUnknownQuery, w.Name, "query", name, names)
}
