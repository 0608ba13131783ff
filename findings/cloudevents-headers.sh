#!/bin/sh
# A CloudEvent in HTTP headers (binary mode, HTTP binding 1.0.2, 3.1.3.2) has blanks, quotes and percent signs of its attributes percent-encoded.
# cloudevents 2.2.0 for Python does so. cloudevents 10.0.0 for JavaScript and github.com/cloudevents/sdk-go/v2 v2.16.2 write values as they are and decode
# nothing: what Python sends as `50%25` they read with three signs too many, and a file named `50%25.txt` is another one for Python.
# JavaScript writes the datum 5 and refuses to read what it wrote. In one body of JSON all of this works.
# Seen with Python 3.11, Go 1.26 and Node 20.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check cloudevents==2.2.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund cloudevents@10.0.0
cat >go.mod <<'MOD'
module events

go 1.24

require github.com/cloudevents/sdk-go/v2 v2.16.2
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	protocol "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func main() {
	ctx := context.Background()
	request, err := http.NewRequest("POST", "http://127.0.0.1/", strings.NewReader("{}"))
	if err != nil {
		panic(err)
	}
	if os.Args[1] == "write" {
		event := cloudevents.NewEvent()
		event.SetID("1")
		event.SetSource("/files")
		event.SetType("file.written")
		event.SetSubject(os.Args[2])
		if err := protocol.WriteRequest(binding.WithForceBinary(ctx), (*binding.EventMessage)(&event), request); err != nil {
			panic(err)
		}
		fmt.Println(request.Header.Get("ce-subject"))
		return
	}
	for name, value := range map[string]string{"specversion": "1.0", "id": "1", "source": "/files", "type": "file.written", "subject": os.Args[2]} {
		request.Header.Set("ce-"+name, value)
	}
	event, err := binding.ToEvent(ctx, protocol.NewMessageFromHttpRequest(request))
	if err != nil {
		panic(err)
	}
	fmt.Println(event.Subject())
}
GO
cat >events.py <<'PY'
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event
from cloudevents.core.v1.event import CloudEvent

attributes = {"specversion": "1.0", "id": "1", "source": "/files", "type": "file.written", "subject": sys.argv[2]}
if sys.argv[1] == "write":
    print(to_binary_event(CloudEvent(attributes)).headers["ce-subject"])
else:
    print(from_http_event(HTTPMessage({f"ce-{name}": value for name, value in attributes.items()}, b"")).get_subject())
PY
cat >events.mjs <<'JS'
import { CloudEvent, HTTP } from 'cloudevents';

const [what, text] = process.argv.slice(2);
const attributes = { specversion: '1.0', id: '1', source: '/files', type: 'file.written' };
if (what === 'write') {
  console.log(HTTP.binary(new CloudEvent({ ...attributes, subject: text })).headers['ce-subject']);
} else if (what === 'read') {
  const headers = { 'content-type': 'application/json', 'ce-subject': text };
  for (const [name, value] of Object.entries(attributes)) headers[`ce-${name}`] = value;
  console.log(HTTP.toEvent({ headers, body: '{}' }).subject);
} else {
  const event = new CloudEvent({ ...attributes, datacontenttype: 'application/json', data: JSON.parse(text) });
  for (const mode of ['binary', 'structured']) {
    try {
      console.log(`${mode} ${JSON.stringify(HTTP.toEvent(HTTP[mode](event)).data)}`);
    } catch (error) {
      console.log(`${mode} ${error.message}`);
    }
  }
}
JS
go build -o events . 2>/dev/null
seen=$(
  for text in '50% off' '50%25.txt'; do
    for writer in 'python/bin/python events.py' 'node events.mjs' ./events; do
      header=$($writer write "$text")
      echo "$header is for Python $(python/bin/python events.py read "$header"), Node $(node events.mjs read "$header"), Go $(./events read "$header")"
    done
  done
  node events.mjs data 5
)
printf '%s\n' "$seen"
[ "$seen" = '50%25%20off is for Python 50% off, Node 50%25%20off, Go 50%25%20off
50% off is for Python 50% off, Node 50% off, Go 50% off
50% off is for Python 50% off, Node 50% off, Go 50% off
50%2525.txt is for Python 50%25.txt, Node 50%2525.txt, Go 50%2525.txt
50%25.txt is for Python 50%.txt, Node 50%25.txt, Go 50%25.txt
50%25.txt is for Python 50%.txt, Node 50%25.txt, Go 50%25.txt
binary invalid payload type, allowed are: string or object
structured 5' ]
