#!/bin/sh
# agent-client-protocol 0.12.1 for Python: an agent cannot clear what it has told its editor. The protocol has null for that: "title" and "updatedAt" of
# `session_info_update` are cleared by null and kept when they are absent. The library leaves every null out, and writes an update without
# fields. The editor, here one with @agentclientprotocol/sdk 2.4.0, goes on with the old title. An agent in JavaScript sends the null.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @agentclientprotocol/sdk@2.4.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check agent-client-protocol==0.12.1
cat >agent.py <<'PY'
import asyncio

from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, run_agent
from acp.schema import SessionInfoUpdate


class Titles(Agent):
    def on_connect(self, conn):
        self.editor = conn

    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_):
        return NewSessionResponse(session_id="s")

    async def prompt(self, session_id, **_):
        for title in ("Repair the roof", None):
            update = SessionInfoUpdate(session_update="session_info_update", title=title)
            await self.editor.session_update(session_id=session_id, update=update)
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Titles()))
PY
cat >agent.js <<'JS'
import { Readable, Writable } from 'node:stream';

import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';

agent({ name: 'titles' })
  .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: 's' }))
  .onRequest(methods.agent.session.prompt, async ({ client }) => {
    for (const title of ['Repair the roof', null]) {
      await client.notify(methods.client.session.update, { sessionId: 's', update: { sessionUpdate: 'session_info_update', title } });
    }
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
JS
cat >editor.js <<'JS'
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';

import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const [file, ...args] = process.argv.slice(2);
const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const seen = [];
let title = 'none';
await client({ name: 'editor' })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    seen.push(update);
    if (update.title !== undefined) title = update.title;
  })
  .connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
    await ctx.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
    await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'Go.' }] });
  });
console.log(JSON.stringify(seen[1]), title);
child.kill();
JS
python=$(timeout 60 node editor.js python/bin/python agent.py)
node=$(timeout 60 node editor.js node agent.js)
echo "Python: $python"
echo "Node:   $node"
[ "$python" = '{"sessionUpdate":"session_info_update"} Repair the roof' ]
[ "$node" = '{"title":null,"sessionUpdate":"session_info_update"} null' ]
