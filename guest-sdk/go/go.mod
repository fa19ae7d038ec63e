module github.com/cruster/cruster/guest-sdk/go

go 1.26.0

require (
	github.com/cruster/cruster/abi v0.1.0
	github.com/stretchr/testify v1.12.1
	github.com/vmihailenco/msgpack/v5 v5.4.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

// Of this repository; RELEASING.md says what becomes of the line when a version is tagged.
replace github.com/cruster/cruster/abi => ../../abi
