#!/bin/sh
# github.com/sourcegraph/go-diff v0.10.0: a patch that is read and printed is another one. Lines that end with CRLF end with LF, and a name that
# git puts in quotes, as one with a tab, stands there without them. git applies what it wrote and refuses what the library printed of it.
# Seen with Go 1.26 and git 2.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module printed

go 1.24

require github.com/sourcegraph/go-diff v0.10.0
MOD
cat >main.go <<'GO'
package main

import (
	"io"
	"os"

	"github.com/sourcegraph/go-diff/diff"
)

func main() {
	patch, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	files, err := diff.ParseMultiFileDiff(patch)
	if err != nil {
		panic(err)
	}
	printed, err := diff.PrintMultiFileDiff(files)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(printed)
}
GO
go build -o print . 2>/dev/null
git init --quiet repository
cd repository
tried() {
  name=$2
  printf "$3" >"$name"
  git add --all
  printf "$4" >"$name"
  git diff >../patch
  git checkout --quiet -- "$name"
  ../print <../patch >../printed
  for patch in patch printed; do
    if git apply --check "../$patch" 2>/dev/null; then echo "$1 $patch applies"; else echo "$1 $patch does not apply"; fi
  done
}
seen=$(
  tried LF a.txt 'one\ntwo\n' 'one\nthree\n'
  tried CRLF b.txt 'one\r\ntwo\r\n' 'one\r\nthree\r\n'
  tried tab "$(printf 'c\td.txt')" 'one\ntwo\n' 'one\nthree\n'
)
printf '%s\n' "$seen"
[ "$seen" = 'LF patch applies
LF printed applies
CRLF patch applies
CRLF printed does not apply
tab patch applies
tab printed does not apply' ]
