#!/bin/sh
# Two readers of event streams for JavaScript, and texts as a model sends them. fetch-event-stream 0.1.6 takes all blanks and tabs away before a
# text, where the format has one blank at most: indentation is lost. parse-sse 0.1.0 makes two events of one if the network parts a CR from its
# LF, and gives the last one although it never ended. undici 7.30.2 and eventsource-parser 4.1.3 read all of this as it is (HTML, 9.2.6).
# Seen with Node 20.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund fetch-event-stream@0.1.6 parse-sse@0.1.0 eventsource-parser@4.1.3 undici@7.30.2
cat >main.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createParser } from 'eventsource-parser';
import { events } from 'fetch-event-stream';
import { parseServerSentEvents } from 'parse-sse';
import { EventSource } from 'undici';

const streams = {
  indented: ['data: \treturn\n\ndata:   x\n\n'],
  parted: ['data: one\r', '\ndata: two\r\n\r\n'],
  unended: ['data: one\n\ndata: tw'],
};
const server = createServer(async (request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of streams[decodeURIComponent(request.url.slice(1))]) {
    response.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  response.end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const readers = {
  undici: (url) =>
    new Promise((resolve) => {
      const texts = [];
      const source = new EventSource(url);
      source.onmessage = (event) => texts.push(event.data);
      source.onerror = () => {
        source.close();
        resolve(texts);
      };
    }),
  'fetch-event-stream': async (url) => {
    const texts = [];
    for await (const event of events(await fetch(url))) texts.push(event.data);
    return texts;
  },
  'parse-sse': async (url) => {
    const texts = [];
    for await (const event of parseServerSentEvents(await fetch(url))) texts.push(event.data);
    return texts;
  },
  'eventsource-parser': async (url) => {
    const texts = [];
    const parser = createParser({ onEvent: (event) => texts.push(event.data) });
    for await (const piece of (await fetch(url)).body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
    return texts;
  },
};
for (const name of Object.keys(streams)) {
  for (const [reader, read] of Object.entries(readers)) {
    console.log(name, reader, JSON.stringify(await read(`http://127.0.0.1:${server.address().port}/${encodeURIComponent(name)}`)));
  }
}
server.close();
server.closeAllConnections();
process.exit();
JS
seen=$(node --no-warnings main.mjs)
printf '%s\n' "$seen"
[ "$seen" = 'indented undici ["\treturn","  x"]
indented fetch-event-stream ["return","x"]
indented parse-sse ["\treturn","  x"]
indented eventsource-parser ["\treturn","  x"]
parted undici ["one\ntwo"]
parted fetch-event-stream ["one\ntwo"]
parted parse-sse ["one","two"]
parted eventsource-parser ["one\ntwo"]
unended undici ["one"]
unended fetch-event-stream ["one"]
unended parse-sse ["one","tw"]
unended eventsource-parser ["one"]' ]
