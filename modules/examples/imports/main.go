// Command imports is a workflow with many children, some failing: each file of an import is a workflow of its own, and
// the outcomes of the others are known when one cannot be read.
package main

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// ImportRequest is the request of Import.
type ImportRequest struct {
	// Batch is the key of an import.
	Batch string   `json:"batch"`
	Files []string `json:"files"`
	// AtOnce is how many files are read at the same time. Defaults to all.
	AtOnce int64 `json:"at_once,omitempty"`
}

// ImportResult is the result of Import.
type ImportResult struct {
	Rows int64 `json:"rows"`
	// Failed are the files that could not be read, with the reason.
	Failed map[string]string `json:"failed"`
}

// FileRequest is the request of ImportFile.
type FileRequest struct {
	Batch string `json:"batch"`
	File  string `json:"file"`
}

// Import reads the files of a batch, each in a child.
var Import = cruster.NewWorkflow("Import", importAll, cruster.RawKey(func(r ImportRequest) string { return r.Batch }))

func importAll(ctx cruster.Context, req ImportRequest) (ImportResult, error) {
	atOnce := int(req.AtOnce)
	if atOnce <= 0 {
		atOnce = max(len(req.Files), 1)
	}
	children := cruster.MapSettled(ctx, req.Files, atOnce, func(ctx cruster.Context, file string) (int64, error) {
		return ImportFile.Client().Execute(ctx, FileRequest{Batch: req.Batch, File: file})
	})
	result := ImportResult{Failed: map[string]string{}}
	for i, child := range children {
		var failed *cruster.Error
		switch {
		case child.Err == nil:
			result.Rows += child.Value
		case errors.Is(child.Err, cruster.ErrInterrupted):
			return result, child.Err
		case errors.As(child.Err, &failed):
			result.Failed[req.Files[i]] = failed.Message
		default:
			return result, child.Err
		}
	}
	return result, nil
}

// ImportFile reads one file: its parts are rows, each stored once.
var ImportFile = cruster.NewWorkflow("ImportFile", importFile,
	cruster.RawKey(func(r FileRequest) string { return fmt.Sprintf("%s/%s", r.Batch, r.File) }))

func importFile(ctx cruster.Context, req FileRequest) (int64, error) {
	parts, err := Open.Call(ctx, req)
	if err != nil {
		return 0, err
	}
	for part := range parts {
		if _, err := Store.Call(ctx, Part{FileRequest: req, Number: part}); err != nil {
			return 0, err
		}
	}
	return parts, nil
}

// Open tells how many parts a file has. A file whose name begins with "broken" has none.
var Open = cruster.NewActivity("open", open)

func open(_ *cruster.ActivityContext, req FileRequest) (int64, error) {
	if len(req.File) >= 6 && req.File[:6] == "broken" {
		return 0, cruster.NonRetryable(cruster.Errorf("unreadable", "%s cannot be read", req.File))
	}
	return 3, nil
}

// Part is a part of a file.
type Part struct {
	FileRequest
	Number int64 `json:"number"`
}

// Store stores a part of a file.
var Store = cruster.NewActivity("store", store, cruster.Retries(3), cruster.ConstantBackoff(10*time.Millisecond))

func store(ctx *cruster.ActivityContext, p Part) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO import_rows (batch, source, part) VALUES ($1, $2, $3)`, p.Batch, p.File, p.Number,
	)
	return err == nil, err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "rows", SQL: `
CREATE TABLE import_rows (
	batch  TEXT NOT NULL,
	source TEXT NOT NULL,
	part   BIGINT NOT NULL
)`},
)

func main() {}
