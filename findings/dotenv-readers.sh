#!/bin/sh
# One .env file, five readers. An unquoted password ends at `#` for dotenv 18.0.10 and Node's own `parseEnv`, with no blank before it; for python-dotenv 1.2.4,
# github.com/joho/godotenv v1.5.1 and a shell it goes on. `"C:\\new"` has a line feed for the first two and a backslash for the others. A quote behind a
# backslash ends the value for Node alone, and the rest is lost. `"a\tb"` is a tab, a backslash and a `t`, or a plain `t`. Nothing is an error: a
# secret that works in one program of a project is another one in the next.
# Seen with Node 20, Python 3.11, Go 1.26 and dash.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check python-dotenv==1.2.4
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts dotenv@18.0.10
cat >.env <<'ENV'
PLAIN=secret
HASH=se#cret
FOLDER="C:\\new"
QUOTE="say \"yes\" twice"
TAB="a\tb"
ENV
cat >read.js <<'JS'
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parse } from 'dotenv';

const text = readFileSync('.env', 'utf8');
console.log('dotenv', JSON.stringify(parse(text)));
console.log('node', JSON.stringify(parseEnv(text)));
JS
cat >read.py <<'PY'
import json

from dotenv import dotenv_values

print("python-dotenv", json.dumps(dotenv_values(".env"), separators=(",", ":")))
PY
cat >go.mod <<'MOD'
module read

go 1.24

require github.com/joho/godotenv v1.5.1
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/joho/godotenv"
)

func main() {
	values, err := godotenv.Read()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"PLAIN", "HASH", "FOLDER", "QUOTE", "TAB"} {
		fmt.Printf("godotenv %s %q\n", name, values[name])
	}
}
GO
{
  node read.js 2>/dev/null
  python/bin/python read.py
  go run . 2>/dev/null
  sh -c '. ./.env; printf "sh %s\n" "$PLAIN" "$HASH" "$FOLDER" "$QUOTE" "$TAB"'
} >seen.txt
cat seen.txt
cat >expected.txt <<'TXT'
dotenv {"PLAIN":"secret","HASH":"se","FOLDER":"C:\\\new","QUOTE":"say \\\"yes\\\" twice","TAB":"a\\tb"}
node {"FOLDER":"C:\\\new","HASH":"se","PLAIN":"secret","QUOTE":"say \\","TAB":"a\\tb"}
python-dotenv {"PLAIN":"secret","HASH":"se#cret","FOLDER":"C:\\new","QUOTE":"say \"yes\" twice","TAB":"a\tb"}
godotenv PLAIN "secret"
godotenv HASH "se#cret"
godotenv FOLDER "C:\\new"
godotenv QUOTE "say \"yes\" twice"
godotenv TAB "atb"
sh secret
sh se#cret
sh C:\new
sh say "yes" twice
sh a\tb
TXT
diff expected.txt seen.txt
