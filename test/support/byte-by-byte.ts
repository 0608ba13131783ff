/** Real programs that write byte by byte, and what the process of their session holds meanwhile: a suite for as many bytes as it is given. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { calls, mcpArtifact } from './mcp-artifact.ts';
import { scriptCapsule } from './script-capsule.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from './streamed-capsule.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** What a session may take more when a program writes so much byte by byte. A buffer for each piece takes several times as much. */
const maxMore = 40 * 1024 * 1024;

/** How a program writes so many blanks to its standard output, one by one or all at once, and then the text. */
const blanks = (bytes: number): string => `
import { writeSync } from 'node:fs';
function writeAll(bytes) {
  for (let at = 0; at < bytes.length;) {
    try { at += writeSync(1, bytes, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
  }
}
function blanksAnd(text, way) {
  const blank = Buffer.alloc(way === 'one by one' ? 1 : ${bytes}, ' ');
  for (let left = ${bytes}; left > 0; left -= blank.length) writeAll(blank);
  writeAll(Buffer.from(text));
}
`;

const nativeTool = (bytes: number): string => `#!/usr/bin/env node
${blanks(bytes)}
let input = '';
process.stdin.on('data', (chunk) => (input += chunk)).on('end', () => {
  blanksAnd(JSON.stringify({ status: 'passed', content: 'written' }), JSON.parse(input).arguments.way);
});
`;

const server = (bytes: number): string => `#!/usr/bin/env node
import { createInterface } from 'node:readline';
${blanks(bytes)}
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'write', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'written' }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = JSON.stringify({ jsonrpc: '2.0', id, result: results[method](params) }) + '\\n';
  if (method === 'tools/call') blanksAnd(answer, params.arguments.way);
  else writeAll(Buffer.from(answer));
});
`;

const driver = (bytes: number): string => `
import { createInterface } from 'node:readline';
${blanks(bytes)}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { messages } = JSON.parse(line).request;
  const way = JSON.stringify(messages).includes('one by one') ? 'one by one' : 'at once';
  const response = { content: [{ type: 'text', text: 'written' }], stop_reason: 'end_turn' };
  blanksAnd(JSON.stringify({ type: 'response', response }) + '\\n', way);
});
`;

const nativeFiles = (bytes: number): Readonly<Record<string, string>> => ({
  'it/svc.yaml': 'name: it\nversion: 1.0.0\nruntime: tool\nimplementation: native\ndescription: Writes.\n',
  'it/bin/it': nativeTool(bytes),
});

const script = (name: string, way: string, files: Readonly<Record<string, string>>): Workspace =>
  scriptCapsule({
    manifest: `artifacts: [{ name: it, version: 1.0.0, source: ./it }]\n${staysUp}`,
    script: calls([name, { way }]),
    files,
  });

/** A capsule for each kind of program, in which one writes in the way that is the task. */
const capsuleOf = {
  'a native tool': (way: string, bytes: number) => script('it', way, nativeFiles(bytes)),
  'an MCP server': (way: string, bytes: number) => script('it__write', way, mcpArtifact('it', server(bytes))),
  'a process driver': (_: string, bytes: number) =>
    makeWorkspace({
      'svc.yaml': `name: it\nversion: 1.0.0\ninference: { transport: process, command: [node, ./driver.mjs] }\n${staysUp}`,
      'driver.mjs': driver(bytes),
    }),
} as const;

/** The suite for programs that write so many mebibytes. */
export function describeByteByByte(mebibytes: number): void {
  const capsules = useStreamedCapsules();
  describe(`a program that writes ${mebibytes} MiB byte by byte`, () => {
    it.each(['a native tool', 'an MCP server', 'a process driver'] as const)(
      'takes no more memory of the session than one that writes them at once, as %s',
      { timeout: 120_000 },
      async (kind) => {
        const most = async (way: string): Promise<number> => {
          const running = await capsules.from(capsuleOf[kind](way, mebibytes * 1024 * 1024));
          return await maxMemoryOf(running, way);
        };
        const atOnce = await most('at once');
        const oneByOne = await most('one by one');
        expect(oneByOne - atOnce).toBeLessThan(maxMore);
      },
    );
  });
}

/** The most memory that the process of a session has held after its first task, in bytes. */
async function maxMemoryOf(running: StreamedCapsule, task: string): Promise<number> {
  const { frames } = await (await running.submit(task)).untilClosed();
  expect(JSON.stringify(frames)).toContain('written');
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${running.line.pid}/status`, 'utf8')) ?? [];
  await running.terminate();
  return Number(kilobytes) * 1024;
}
