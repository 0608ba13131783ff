#!/bin/sh
# A block of an event stream without `data` is no event (HTML, 9.2.6): servers begin with `retry: 2000` and a blank line, as better-sse 0.16.1 does
# unasked. httpx-sse 0.4.3 for Python, github.com/launchdarkly/eventsource v1.11.0 and github.com/r3labs/sse/v2 v2.10.0 give their readers an
# event with an empty text for it. Whoever reads each event as JSON fails at the first. eventsource 4.1.1 for Node and sseclient-py 1.9.0 give
# none.
# Seen with Node 20, Python 3.11 and Go 1.26.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund better-sse@0.16.1 eventsource@4.1.1
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check httpx==0.28.1 httpx-sse==0.4.3 requests==2.34.2 sseclient-py==1.9.0
cat >go.mod <<'MOD'
module events

go 1.24

require (
	github.com/launchdarkly/eventsource v1.11.0
	github.com/r3labs/sse/v2 v2.10.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/launchdarkly/eventsource"
	"github.com/r3labs/sse/v2"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		panic(err)
	}
	events := eventsource.NewDecoder(answer.Body)
	for {
		event, err := events.Decode()
		if err != nil {
			break
		}
		fmt.Printf("launchdarkly %q\n", event.Data())
	}
	enough, stop := context.WithCancel(context.Background())
	sse.NewClient(os.Args[1]).SubscribeRawWithContext(enough, func(event *sse.Event) {
		fmt.Printf("r3labs %q\n", event.Data)
		if len(event.Data) > 0 {
			stop()
		}
	})
}
GO
go build -o events . 2>/dev/null
cat >read.py <<'PY'
import json
import sys

import httpx
import httpx_sse
import requests
import sseclient

with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", sys.argv[1]) as source:
    for event in source.iter_sse():
        print("httpx-sse", json.dumps(event.data))
for event in sseclient.SSEClient(requests.get(sys.argv[1], stream=True)).events():
    print("sseclient-py", json.dumps(event.data))
PY
cat >main.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSession } from 'better-sse';
import { EventSource } from 'eventsource';

const server = createServer(async (request, response) => {
  const session = await createSession(request, response);
  session.push(1);
  setTimeout(() => response.end(), 100);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;
await new Promise((resolve) => {
  const source = new EventSource(url);
  source.addEventListener('message', (event) => console.log('eventsource', JSON.stringify(event.data)));
  source.addEventListener('error', () => {
    source.close();
    resolve();
  });
});
for (const command of [['python/bin/python', 'read.py'], ['./events']]) {
  await once(spawn(command[0], [...command.slice(1), url], { stdio: ['ignore', 'inherit', 'inherit'] }), 'close');
}
server.close();
server.closeAllConnections();
JS
seen=$(node main.mjs)
printf '%s\n' "$seen"
[ "$seen" = 'eventsource "1"
httpx-sse ""
httpx-sse "1"
sseclient-py "1"
launchdarkly ""
launchdarkly "1"
r3labs ""
r3labs "1"' ]
