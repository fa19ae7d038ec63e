package grpcserver

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// # Each method has a limit of its own
//
// The transport has one limit for all methods, and modules must pass. With it alone the host
// receives 33 MB for a call that names an execution, and refuses them then. The limit of a request
// follows from its fields: a module, values of the application, or names and small texts.

// limits are how large messages may be, by method.
type limits map[string]int64

// uploading are the methods whose messages are modules, or pieces of modules. Their handlers wait for a place before
// they read, and limit the time that a module takes.
var uploading = map[string]bool{
	crusterv1.DeploymentService_PushModule_FullMethodName:   true,
	crusterv1.DeploymentService_UploadModule_FullMethodName: true,
	crusterv1.DeploymentService_CheckModule_FullMethodName:  true,
}

// limitsOf are the limits of all methods, where an upload may have so many bytes.
func limitsOf(upload int64) limits {
	l := limits{}
	for _, file := range []protoreflect.FileDescriptor{
		crusterv1.File_cruster_v1_deferred_proto, crusterv1.File_cruster_v1_entity_proto,
		crusterv1.File_cruster_v1_deployment_proto,
		crusterv1.File_cruster_v1_schedule_proto, crusterv1.File_cruster_v1_workflow_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				name := "/" + string(service.FullName()) + "/" + string(method.Name())
				switch {
				case uploading[name]:
					l[name] = upload
				case hasBytes(method.Input(), map[protoreflect.FullName]bool{}):
					l[name] = maxRequest
				default:
					l[name] = envelope
				}
			}
		}
	}
	return l
}

// hasBytes tells whether a message, or one in it, has a field of bytes.
func hasBytes(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[m.FullName()] {
		return false
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		if field.Kind() == protoreflect.BytesKind || field.Message() != nil && hasBytes(field.Message(), seen) {
			return true
		}
	}
	return false
}

// of is the limit of a method, and whether its handler limits the time that its messages take. Methods
// that are not in the contract (health, reflection, unknown ones) have the least.
func (l limits) of(method string) (bytes int64, patient bool) {
	if bytes, ok := l[method]; ok {
		return bytes, uploading[method]
	}
	return envelope, false
}
