package view

import "github.com/cruster/cruster/abi"

// Category is the name of a category of failures, as the API has it.
func Category(c abi.Category) string { return categories[c] }

var categories = map[abi.Category]string{
	abi.Internal:           "INTERNAL",
	abi.InvalidArgument:    "INVALID_ARGUMENT",
	abi.NotFound:           "NOT_FOUND",
	abi.AlreadyExists:      "ALREADY_EXISTS",
	abi.FailedPrecondition: "FAILED_PRECONDITION",
	abi.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	abi.Unavailable:        "UNAVAILABLE",
	abi.DeadlineExceeded:   "DEADLINE_EXCEEDED",
	abi.PermissionDenied:   "PERMISSION_DENIED",
	abi.Aborted:            "ABORTED",
}

// Categories of failures without a code, which no host has seen.
const (
	CategoryUsage     = "USAGE"
	CategoryCancelled = "CANCELLED"
)
