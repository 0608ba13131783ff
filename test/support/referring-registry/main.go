// Serves an OCI registry of another project from memory, with the API that lists what refers to a manifest.
package main

import (
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %s", listener.Addr())
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler:           registry.New(registry.WithReferrersSupport(true)),
	}
	log.Fatal(server.Serve(listener))
}
