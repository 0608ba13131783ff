#!/bin/sh
# Three hyphens in the frontmatter of a SKILL.md that do not end it. `description: Logs --- not traces` is one text of YAML; skills-ref 0.1.1, the reference
# library for Agent Skills, cuts it at the hyphens, finds the skill valid, and puts the rest before the instructions. A line of hyphens inside
# a block of text is indented, and ends the frontmatter for skills-ref and for github.com/adrg/frontmatter v0.2.0.
# python-frontmatter 1.3.0 and gray-matter 4.0.3 read both whole.
# Seen with Python 3.11, Go 1.26 and Node 20.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check skills-ref==0.1.1 python-frontmatter==1.3.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund gray-matter@4.0.3
mkdir -p one/logs two/logs
printf -- '---\nname: logs\ndescription: Logs --- not traces\n---\nRead them.\n' >one/logs/SKILL.md
printf -- '---\nname: logs\ndescription: |\n  Logs\n  ---\n  not traces\n---\nRead them.\n' >two/logs/SKILL.md
cat >go.mod <<'MOD'
module skills

go 1.24

require github.com/adrg/frontmatter v0.2.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/adrg/frontmatter"
)

func main() {
	for _, path := range os.Args[1:] {
		file, err := os.Open(path)
		if err != nil {
			panic(err)
		}
		var head struct{ Description string }
		body, err := frontmatter.Parse(file, &head)
		if err != nil {
			panic(err)
		}
		fmt.Printf("adrg: %q %q\n", head.Description, body)
	}
}
GO
cat >read.py <<'PY'
import json
import pathlib
import sys

import frontmatter
import skills_ref
from skills_ref.parser import parse_frontmatter

for path in map(pathlib.Path, sys.argv[1:]):
    head, body = parse_frontmatter(path.read_text())
    print("skills-ref:", json.dumps(head["description"]), json.dumps(body), "problems", skills_ref.validate(path.parent))
    skill = frontmatter.load(path)
    print("python-frontmatter:", json.dumps(skill["description"]), json.dumps(skill.content))
PY
cat >read.mjs <<'JS'
import matter from 'gray-matter';

for (const path of process.argv.slice(2)) {
  const { data, content } = matter.read(path);
  console.log('gray-matter:', JSON.stringify(data.description), JSON.stringify(content));
}
JS
go build -o read . 2>/dev/null
seen=$(for path in one/logs/SKILL.md two/logs/SKILL.md; do
  python/bin/python read.py "$path"
  ./read "$path"
  node read.mjs "$path"
done)
printf '%s\n' "$seen"
[ "$seen" = 'skills-ref: "Logs" "not traces\n---\nRead them." problems []
python-frontmatter: "Logs --- not traces" "Read them."
adrg: "Logs --- not traces" "Read them.\n"
gray-matter: "Logs --- not traces" "Read them.\n"
skills-ref: "Logs\n" "not traces\n---\nRead them." problems []
python-frontmatter: "Logs\n---\nnot traces\n" "Read them."
adrg: "Logs\n" "  not traces\n---\nRead them.\n"
gray-matter: "Logs\n---\nnot traces\n" "Read them.\n"' ]
