#!/bin/sh
# An attribute of a span that is NaN, as the mean of nothing is: @opentelemetry/otlp-transformer 0.223.1 writes `"doubleValue":null` into a request in
# JSON, where the format of protocol buffers in JSON has "NaN". go.opentelemetry.io/collector/pdata v1.71.0, with which OpenTelemetry's collector reads, refuses
# the whole request, with all other spans in it. A whole number beyond 64 bits is an `intValue`, and fares alike. In the same package's
# protocol buffers both arrive, as doubles. A price is a `double` at 5.5 and an `int` at 5.0 in either.
# Seen with Node 20 and Go 1.26.
set -eu
folder=$(mktemp -d)
# Go writes its modules without write permission.
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-mod=mod npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  @opentelemetry/api@1.9.1 @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/otlp-transformer@0.223.1
cat >go.mod <<'MOD'
module collector

go 1.25

require go.opentelemetry.io/collector/pdata v1.71.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	request, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	var reader ptrace.Unmarshaler = &ptrace.JSONUnmarshaler{}
	if os.Args[1] == "protobuf" {
		reader = &ptrace.ProtoUnmarshaler{}
	}
	traces, err := reader.UnmarshalTraces(request)
	if err != nil {
		before, _, _ := strings.Cut(err.Error(), ", error found")
		fmt.Println("refused:", before)
		return
	}
	spans := traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	fmt.Print(spans.Len(), " spans:")
	for _, span := range spans.All() {
		value, _ := span.Attributes().Get("value")
		fmt.Print(" ", value.Type(), " ", value.AsString())
	}
	fmt.Println()
}
GO
cat >send.js <<'JS'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [format, value] = process.argv.slice(2);
const kept = new InMemorySpanExporter();
const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(kept)] }).getTracer('prices');
for (const each of [5.5, Number(value)]) tracer.startSpan('order', { attributes: { value: each } }).end();
const serializer = format === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer;
process.stdout.write(serializer.serializeRequest(kept.getFinishedSpans()));
JS
go build -o collector . 2>/dev/null
seen=$(for value in 5.0 NaN 12345678901234567890; do
  for format in json protobuf; do echo "$value in $format: $(node send.js $format $value | ./collector $format)"; done
done)
printf '%s\n' "$seen"
[ "$seen" = '5.0 in json: 2 spans: Double 5.5 Int 5
5.0 in protobuf: 2 spans: Double 5.5 Int 5
NaN in json: refused: ReadUint64: unsupported value type
NaN in protobuf: 2 spans: Double 5.5 Double NaN
12345678901234567890 in json: refused: ReadInt64: overflow: 12345678901234567000
12345678901234567890 in protobuf: 2 spans: Double 5.5 Double 12345678901234567000' ]
