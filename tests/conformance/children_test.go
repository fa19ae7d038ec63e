package conformance

import "github.com/cruster/cruster/abi"

func childCases() []testCase {
	refused := func(code abi.Code) object { return object{"code": string(code)} }
	awaited := object{"value": "go on"}
	return []testCase{
		{name: "child", workflow: "Call", needs: []string{"Double"}, input: 21, want: object{"value": 42}, journal: []string{"call Double"}},
		{
			name: "child fails", workflow: "Call", needs: []string{"Double"}, input: -1,
			want:    object{"code": "CR-2006", "type": "negative", "text": "CR-2006: -1 is negative"},
			journal: []string{"call Double CR-2006"},
		},
		{name: "many children", workflow: "CallMany", needs: []string{"Double"}, input: 20, want: 2 * (20*1000 + 190)},
		{
			name: "children with keys", workflow: "CallKeys", needs: []string{"Double"}, input: "fixed", want: []any{0, 0, 4, 4, "conformance/Double/fixed"},
			journal: []string{"call Double", "call Double", "call Double", "call Double", "send Double"},
		},
		{name: "children with keys of all scripts", workflow: "CallKeys", needs: []string{"Double"}, input: "Grüße/世界 🌍", want: []any{0, 0, 4, 4, "conformance/Double/Grüße/世界 🌍"}},
		{
			name: "child followed", workflow: "Follow", needs: []string{"Await"}, input: "followed",
			want: []any{"conformance/Await/followed", "running", false, awaited, "completed", true, awaited},
		},
		{name: "call to itself", workflow: "CallItself", input: object{}, want: []object{refused(abi.CodeCallToItself), refused(abi.CodeCallToItself)}},
		{name: "calls that cannot be", workflow: "CallWrong", needs: []string{"Await", "Double"}, input: object{}, want: []object{
			refused(abi.CodeDeploymentNotFound), refused(abi.CodeUnknownWorkflow), refused(abi.CodeBadInput), refused(abi.CodeBadKey),
			refused(abi.CodeExecutionNotFound), refused(abi.CodeExecutionNotFound), refused(abi.CodeExecutionNotFound),
		}},
	}
}
