#!/bin/sh
# github.com/gin-contrib/sse v1.1.1, which gin writes its events with: `data:` stands right before the text. A reader takes one blank away there
# (HTML, 9.2.6), so a text that begins with a blank arrives without it, and most pieces of an answer of a model begin with one. The same goes for
# each further line: code loses a blank of its indentation. A carriage return, which ends a line in the format, arrives as a backslash and an `r`.
# eventsource-parser 4.1.3 reads what gin 1.12.0's own `SSEvent` sent.
# Seen with Go 1.26 and Node 20.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
cat >go.mod <<'MOD'
module events

go 1.24

require (
	github.com/gin-contrib/sse v1.1.1
	github.com/gin-gonic/gin v1.12.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http/httptest"

	"github.com/gin-gonic/gin"
)

func main() {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET("/", func(c *gin.Context) {
		for _, piece := range []string{"Hello", " world", "if x:\n    return", "one\r\ntwo"} {
			c.SSEvent("message", piece)
		}
	})
	answer := httptest.NewRecorder()
	engine.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
	fmt.Print(answer.Body.String())
}
GO
cat >read.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';

createParser({ onEvent: (event) => console.log(JSON.stringify(event.data)) }).feed(readFileSync(0, 'utf8'));
JS
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund eventsource-parser@4.1.3
go build -o events . 2>/dev/null
seen=$(./events | node read.mjs)
printf '%s\n' "$seen"
[ "$seen" = '"Hello"
"world"
"if x:\n   return"
"one\\r\ntwo"' ]
