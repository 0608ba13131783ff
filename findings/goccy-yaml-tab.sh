#!/bin/sh
# github.com/goccy/go-yaml v1.19.2: text that begins with a tab is written without quotes. In one line the tab is lost when it is read; with a
# second line the library cannot read what it wrote. The same holds for text that begins with a line feed and blanks. A line of a Makefile kept
# in YAML is changed, or takes the whole file with it. go.yaml.in/yaml/v4 v4.0.0 puts such text into quotes.
# Seen with Go 1.26.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module texts

go 1.24

require (
	github.com/goccy/go-yaml v1.19.2
	go.yaml.in/yaml/v4 v4.0.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/goccy/go-yaml"
	other "go.yaml.in/yaml/v4"
)

func main() {
	for _, text := range []string{"all: a", "\tmake", "\tmake\nall", "\n  one\ntwo"} {
		whole := map[string]string{"text": text}
		goccy, err := yaml.Marshal(whole)
		if err != nil {
			panic(err)
		}
		quoted, err := other.Marshal(whole)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q by goccy %s by yaml/v4 %s\n", text, read(goccy, text), read(quoted, text))
	}
}

func read(written []byte, text string) string {
	var seen map[string]string
	if err := yaml.Unmarshal(written, &seen); err != nil {
		return "refused"
	}
	if seen["text"] != text {
		return fmt.Sprintf("%q", seen["text"])
	}
	return "whole"
}
GO
seen=$(go run . 2>/dev/null)
printf '%s\n' "$seen"
[ "$seen" = '"all: a" by goccy whole by yaml/v4 whole
"\tmake" by goccy "make" by yaml/v4 whole
"\tmake\nall" by goccy refused by yaml/v4 whole
"\n  one\ntwo" by goccy refused by yaml/v4 whole' ]
