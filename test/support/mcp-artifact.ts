/** Packs a server of the Model Context Protocol as an artifact. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

/** `sdk-server.ts` as one program, as an author would bundle it for an archive. */
export async function sdkServerProgram(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('sdk-server.ts', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    banner: { js: '#!/usr/bin/env node' },
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}

/** `odd-server.mjs`, which reads from a file of the workdir what it is to do. */
export function oddServerProgram(): string {
  return readFileSync(new URL('odd-server.mjs', import.meta.url), 'utf8');
}

/** The files of an artifact in the folder of its name. */
export function mcpArtifact(name: string, program: string, ...words: readonly string[]): Record<string, string> {
  const command = JSON.stringify(['bin/server.mjs', ...words]);
  return {
    [`${name}/svc.yaml`]: `name: ${name}\nversion: 1.0.0\nruntime: tool\nimplementation: mcp\ncommand: ${command}\n`,
    [`${name}/bin/server.mjs`]: program,
  };
}

/** What `odd-server.mjs` reads; its tools take anything. */
export function oddBehaviour(tools: readonly string[], more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })), ...more });
}

/** A script whose model makes these calls in one turn, and then says `Done.` */
export function calls(...made: readonly (readonly [tool: string, input: Readonly<Record<string, unknown>>])[]): string {
  const content = made.map(([name, input], index) => ({ type: 'tool_call', id: `call_${index + 1}`, name, input }));
  return JSON.stringify([
    ...(content.length === 0 ? [] : [{ content, stop_reason: 'tool_call' }]),
    { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' },
  ]);
}
