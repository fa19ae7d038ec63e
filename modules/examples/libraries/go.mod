module github.com/cruster/cruster/modules/examples/libraries

go 1.26.0

require (
	github.com/Masterminds/squirrel v1.5.4
	github.com/cruster/cruster/guest-sdk/go v0.1.0
	github.com/jmoiron/sqlx v1.4.0
	github.com/sashabaranov/go-openai v1.43.0
	github.com/slack-go/slack v0.33.0
)

require (
	github.com/cruster/cruster/abi v0.1.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/lann/builder v0.0.0-20180802200727-47ae307949d0 // indirect
	github.com/lann/ps v0.0.0-20150810152359-62de8c46ede0 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)

// Of this repository.
replace (
	github.com/cruster/cruster/abi => ../../../abi
	github.com/cruster/cruster/guest-sdk/go => ../../../guest-sdk/go
)
