#!/bin/sh
# Baggage (W3C) takes a plus sign in a value as it is, and percent-encodes a blank. opentelemetry-api 1.45.2 for Python reads and writes values as a form:
# `a+b` from another service is `a b`, and its own `a b` arrives elsewhere as `a+b`. go.opentelemetry.io/otel v1.47.0 sends the sign as it is,
# @opentelemetry/core 2.12.1 for JavaScript encodes it. The latter writes an empty value, which the format has, and drops it when it reads it.
# An id in base64 or a name that follows a call through three services is not the same in all of them.
# Seen with Python 3.11, Go 1.26 and Node 20.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check opentelemetry-api==1.45.2
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @opentelemetry/api@1.9.1 @opentelemetry/core@2.12.1
cat >go.mod <<'MOD'
module baggage

go 1.24

require go.opentelemetry.io/otel v1.47.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/otel/baggage"
)

func main() {
	if os.Args[1] == "write" {
		member, err := baggage.NewMemberRaw("user", os.Args[2])
		if err != nil {
			panic(err)
		}
		fmt.Println(member)
		return
	}
	read, err := baggage.Parse(os.Args[2])
	if err != nil {
		panic(err)
	}
	fmt.Printf("%q\n", read.Member("user").Value())
}
GO
cat >baggage.py <<'PY'
import json
import sys

from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator

_, what, text = sys.argv
if what == "write":
    headers = {}
    W3CBaggagePropagator().inject(headers, baggage.set_baggage("user", text))
    print(headers["baggage"])
else:
    context = W3CBaggagePropagator().extract({"baggage": text})
    print(json.dumps(baggage.get_baggage("user", context)))
PY
cat >baggage.mjs <<'JS'
import { propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { W3CBaggagePropagator } from '@opentelemetry/core';

const [what, text] = process.argv.slice(2);
const propagator = new W3CBaggagePropagator();
if (what === 'write') {
  const headers = {};
  const context = propagation.setBaggage(ROOT_CONTEXT, propagation.createBaggage({ user: { value: text } }));
  propagator.inject(context, headers, { set: (to, name, value) => (to[name] = value) });
  console.log(headers.baggage);
} else {
  const context = propagator.extract(ROOT_CONTEXT, { baggage: text }, { get: (from, name) => from[name], keys: Object.keys });
  console.log(JSON.stringify(propagation.getBaggage(context)?.getEntry('user')?.value) ?? 'absent');
}
JS
go build -o baggage . 2>/dev/null
seen=$(for text in 'a+b' 'a b' ''; do
  for writer in 'python/bin/python baggage.py' 'node baggage.mjs' ./baggage; do
    header=$($writer write "$text")
    echo "$header is for Python $(python/bin/python baggage.py read "$header"), Node $(node baggage.mjs read "$header"), Go $(./baggage read "$header")"
  done
done)
printf '%s\n' "$seen"
[ "$seen" = 'user=a%2Bb is for Python "a+b", Node "a+b", Go "a+b"
user=a%2Bb is for Python "a+b", Node "a+b", Go "a+b"
user=a+b is for Python "a b", Node "a+b", Go "a+b"
user=a+b is for Python "a b", Node "a+b", Go "a+b"
user=a%20b is for Python "a b", Node "a b", Go "a b"
user=a%20b is for Python "a b", Node "a b", Go "a b"
user= is for Python "", Node absent, Go ""
user= is for Python "", Node absent, Go ""
user= is for Python "", Node absent, Go ""' ]
