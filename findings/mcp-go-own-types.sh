#!/bin/sh
# github.com/modelcontextprotocol/go-sdk v1.8.0: the schema of a result comes from the Go type, and not from what encoding/json makes of it.
# Bytes are text in JSON and a list of numbers in the schema; the same holds for json.RawMessage, json.Number, an address of net/netip, a field
# with the option `string` and a map that is nil. The server refuses what such a tool of its own returns, and the call fails.
# Seen with Go 1.26.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module results

go 1.24

require github.com/modelcontextprotocol/go-sdk v1.8.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type result[T any] struct {
	Value T `json:"value"`
}

type quoted struct {
	Value int `json:"value,string"`
}

func offer[T any](server *mcp.Server, name string, value T) {
	look := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, T, error) {
		return nil, value, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: name}, look)
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "typed", Version: "1"}, nil)
	offer(server, "1-text", result[string]{"ab"})
	offer(server, "2-bytes", result[[]byte]{[]byte("ab")})
	offer(server, "3-raw", result[json.RawMessage]{json.RawMessage(`{"a":1}`)})
	offer(server, "4-number", result[json.Number]{json.Number("12")})
	offer(server, "5-address", result[netip.Addr]{netip.MustParseAddr("10.0.0.1")})
	offer(server, "6-quoted", quoted{5})
	offer(server, "7-nil-map", result[map[string]any]{})

	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, here, nil); err != nil {
		panic(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil).Connect(ctx, there, nil)
	if err != nil {
		panic(err)
	}
	listed, err := client.ListTools(ctx, nil)
	if err != nil {
		panic(err)
	}
	refusal := regexp.MustCompile(`has type .*$`)
	for _, tool := range listed.Tools {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name})
		if err == nil {
			fmt.Println(tool.Name, "taken")
		} else {
			fmt.Println(tool.Name, refusal.FindString(err.Error()))
		}
	}
}
GO
seen=$(go run . 2>/dev/null)
printf '%s\n' "$seen"
[ "$seen" = '1-text taken
2-bytes has type "string", want one of "null, array"
3-raw has type "object", want one of "null, array"
4-number has type "integer", want "string"
5-address has type "string", want "object"
6-quoted has type "string", want "integer"
7-nil-map has type "null", want "object"' ]
