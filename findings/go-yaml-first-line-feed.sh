#!/bin/sh
# gopkg.in/yaml.v3 v3.0.1: text that begins with a line feed loses it when it is written. The block that the library writes begins one line too
# late for its header, and every reader sees one line feed fewer, without an error. A prompt or a patch that is kept in YAML is another one, and
# a hash over it too. go.yaml.in/yaml/v4 v4.0.0 writes it whole.
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
	go.yaml.in/yaml/v4 v4.0.0
	gopkg.in/yaml.v3 v3.0.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	four "go.yaml.in/yaml/v4"
	three "gopkg.in/yaml.v3"
)

func main() {
	for _, text := range []string{"one\ntwo", "\none", "\n\none", "\n  one\ntwo"} {
		whole := map[string]string{"text": text}
		by3, err := three.Marshal(whole)
		if err != nil {
			panic(err)
		}
		by4, err := four.Marshal(whole)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q by v3 %q by v4 %q\n", text, read(by3), read(by4))
	}
}

func read(written []byte) string {
	var seen map[string]string
	if err := four.Unmarshal(written, &seen); err != nil {
		panic(err)
	}
	return seen["text"]
}
GO
seen=$(go run . 2>/dev/null)
printf '%s\n' "$seen"
[ "$seen" = '"one\ntwo" by v3 "one\ntwo" by v4 "one\ntwo"
"\none" by v3 "one" by v4 "\none"
"\n\none" by v3 "\none" by v4 "\n\none"
"\n  one\ntwo" by v3 "  one\ntwo" by v4 "\n  one\ntwo"' ]
