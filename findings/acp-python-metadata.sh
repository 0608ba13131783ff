#!/bin/sh
# agent-client-protocol 0.12.1 for Python: what an editor sends in `_meta` reaches an agent as keyword arguments, beside the parameters of the
# method and after them. A key of `_meta` with the name of a parameter takes its place. `_meta: { "prompt": "weekly" }`, which the protocol
# leaves to the editor, and the agent is given the text `weekly` in place of what the person wrote. An agent in JavaScript with
# @agentclientprotocol/sdk 2.4.0 has both.
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

from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, run_agent, update_agent_message_text


class Echo(Agent):
    def on_connect(self, conn):
        self.editor = conn

    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_):
        return NewSessionResponse(session_id="s")

    async def prompt(self, prompt, session_id, **_):
        said = prompt if isinstance(prompt, str) else prompt[0].text
        await self.editor.session_update(session_id=session_id, update=update_agent_message_text(said))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Echo()))
PY
cat >agent.js <<'JS'
import { Readable, Writable } from 'node:stream';

import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';

agent({ name: 'echo' })
  .onRequest(methods.agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: 's' }))
  .onRequest(methods.agent.session.prompt, async ({ params: { prompt, sessionId }, client }) => {
    const update = { sessionUpdate: 'agent_message_chunk', content: prompt[0] };
    await client.notify(methods.client.session.update, { sessionId, update });
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
let said = '';
await client({ name: 'editor' })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    said += update.content.text;
  })
  .connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
    await ctx.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
    const prompt = [{ type: 'text', text: 'Repair the roof.' }];
    await ctx.request(methods.agent.session.prompt, { sessionId, prompt, _meta: { prompt: 'weekly' } });
  });
console.log(said);
child.kill();
JS
python=$(timeout 60 node editor.js python/bin/python agent.py)
node=$(timeout 60 node editor.js node agent.js)
echo "Python: $python"
echo "Node:   $node"
[ "$python" = 'weekly' ]
[ "$node" = 'Repair the roof.' ]
