#!/bin/sh
# A registry says with `Link: <...>; rel="next"` where a list of tags goes on, and may say more in such headers (RFC 8288, 3), as a gateway in front of it
# does that names its manual or what replaces it. github.com/google/go-containerregistry v0.22.1 and oras.land/oras-go/v2 v2.7.0 follow the first
# link there is, whatever it relates: they ask the manual for tags, and the list fails. oras 0.2.43 for Python reads the relation,
# and takes a relative address for one below the host, so `list?last=one` leads it elsewhere.
# Seen with Go 1.26 and Python 3.11.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check oras==0.2.43
cat >go.mod <<'MOD'
module tags

go 1.25

require (
	github.com/google/go-containerregistry v0.22.1
	oras.land/oras-go/v2 v2.7.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	oras "oras.land/oras-go/v2/registry/remote"
)

func main() {
	repository, err := name.NewRepository(os.Args[1], name.Insecure)
	if err != nil {
		panic(err)
	}
	tags, err := remote.List(repository)
	fmt.Println("go-containerregistry:", tags, err != nil)

	second, err := oras.NewRepository(os.Args[1])
	if err != nil {
		panic(err)
	}
	second.PlainHTTP = true
	tags = nil
	err = second.Tags(context.Background(), "", func(page []string) error {
		tags = append(tags, page...)
		return nil
	})
	fmt.Println("oras-go:", tags, err != nil)
}
GO
cat >tags.py <<'PY'
import http.server
import subprocess
import threading

from oras.client import OrasClient

links = [
    '</v2/roofs/tags/list?last=one>; rel="next"',
    '<list?last=one>; rel="next"',
    '</manual>; rel="service-doc"',
    '</manual>; rel="service-doc", </v2/roofs/tags/list?last=one>; rel="next"',
]


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        found = path in ("/v2/", "/v2/roofs/tags/list")
        further = found and query == "last=one"
        body = b'{"name":"roofs","tags":["two"]}' if further else b'{"name":"roofs","tags":["one"]}'
        self.send_response(200 if found else 404)
        if found and not further:
            self.send_header("Link", link)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = f"127.0.0.1:{server.server_port}"
for link in links:
    print(link)
    subprocess.run(["./tags", f"{host}/roofs"], check=True)
    try:
        print("oras:", *OrasClient(hostname=host, insecure=True).get_tags(f"{host}/roofs"))
    except ValueError:
        print("oras: fails")
PY
go build -o tags . 2>/dev/null
seen=$(PYTHONUNBUFFERED=1 timeout 120 python/bin/python tags.py)
printf '%s\n' "$seen"
[ "$seen" = '</v2/roofs/tags/list?last=one>; rel="next"
go-containerregistry: [one two] false
oras-go: [one two] false
oras: one two
<list?last=one>; rel="next"
go-containerregistry: [one two] false
oras-go: [one two] false
oras: fails
</manual>; rel="service-doc"
go-containerregistry: [] true
oras-go: [one] true
oras: one
</manual>; rel="service-doc", </v2/roofs/tags/list?last=one>; rel="next"
go-containerregistry: [] true
oras-go: [one] true
oras: one two' ]
