// Package doctor looks at a machine and lists the tools missing to write modules and to run hosts,
// each with the command that fixes it.
//
// It changes nothing: it opens no store, and gives back the ports that it tries. The output of a
// program becomes a finding by functions of values (judgeGo, judgeRust …), which the tests try;
// [Examine] asks the programs. The package imports serve, which knows the stores, and client. Start
// reading at doctor.go.
package doctor
