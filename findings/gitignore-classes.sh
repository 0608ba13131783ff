#!/bin/sh
# A class of characters in a .gitignore is not read alike. For git `[!_]*.txt` is every text file whose name does not begin with an underline;
# github.com/go-git/go-git/v5 v5.19.3 and github.com/sabhiram/go-gitignore take the exclamation mark as a character of the class, so they ignore
# `_x.txt` and no other: the opposite. For git `[[:digit:]]*` begins with a digit; pathspec 1.1.1 for Python, whose GitIgnoreSpec follows git's
# edge cases, finds no such file. An agent that lists or searches by such a library shows other files than `git status`.
# Seen with Go 1.26, Python 3.11 and git 2.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check pathspec==1.1.1
cat >go.mod <<'MOD'
module ignored

go 1.24

require (
	github.com/go-git/go-git/v5 v5.19.3
	github.com/sabhiram/go-gitignore v0.0.0-20210923224102-525f6e181f06
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	ignore "github.com/sabhiram/go-gitignore"
)

func main() {
	pattern := os.Args[1]
	git := gitignore.NewMatcher([]gitignore.Pattern{gitignore.ParsePattern(pattern, nil)})
	lines := ignore.CompileIgnoreLines(pattern)
	for _, name := range os.Args[2:] {
		fmt.Println(pattern, name, "go-git", git.Match([]string{name}, false), "go-gitignore", lines.MatchesPath(name))
	}
}
GO
cat >read.py <<'PY'
import sys
import warnings

import pathspec

warnings.simplefilter("ignore", FutureWarning)
pattern, *names = sys.argv[1:]
spec = pathspec.GitIgnoreSpec.from_lines([pattern])
for name in names:
    print(pattern, name, "pathspec", spec.match_file(name))
PY
go build -o read . 2>/dev/null
git init --quiet repository
by_git() {
  pattern=$1
  shift
  printf '%s\n' "$pattern" >repository/.gitignore
  for name; do
    if git -C repository check-ignore --quiet "$name"; then echo "$pattern $name git true"; else echo "$pattern $name git false"; fi
  done
}
seen=$(
  for pattern in '[!_]*.txt' '[[:digit:]]*'; do
    by_git "$pattern" _x.txt x.txt 1.md
    ./read "$pattern" _x.txt x.txt 1.md
    python/bin/python read.py "$pattern" _x.txt x.txt 1.md
  done
)
printf '%s\n' "$seen"
[ "$seen" = '[!_]*.txt _x.txt git false
[!_]*.txt x.txt git true
[!_]*.txt 1.md git false
[!_]*.txt _x.txt go-git true go-gitignore true
[!_]*.txt x.txt go-git false go-gitignore false
[!_]*.txt 1.md go-git false go-gitignore false
[!_]*.txt _x.txt pathspec False
[!_]*.txt x.txt pathspec True
[!_]*.txt 1.md pathspec False
[[:digit:]]* _x.txt git false
[[:digit:]]* x.txt git false
[[:digit:]]* 1.md git true
[[:digit:]]* _x.txt go-git false go-gitignore false
[[:digit:]]* x.txt go-git false go-gitignore false
[[:digit:]]* 1.md go-git false go-gitignore true
[[:digit:]]* _x.txt pathspec False
[[:digit:]]* x.txt pathspec False
[[:digit:]]* 1.md pathspec False' ]
