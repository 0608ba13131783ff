/** Makes a capsule whose model calls what its task says. */

import { makeWorkspace, type Workspace } from './workspace.ts';

/**
 * A folder with a capsule whose model makes the calls that its task names, `[["tool", { … }], …]`, one a turn, and then says what the last
 * one answered. A call of `fail` makes it fail with that text.
 */
export function obedientCapsule(name: string, manifest: string): Workspace {
  const workspace = makeWorkspace({ 'model.mjs': model });
  workspace.write(
    'svc.yaml',
    `name: ${name}
version: 1.0.0
inference: { transport: process, model: obedient, command: ["${process.execPath}", "${workspace.folder}/model.mjs"] }
${manifest}`,
  );
  return workspace;
}

/** A tool and its arguments. */
export type NamedCall = readonly [tool: string, input: unknown];

/** The task that makes an obedient model call tools. */
export function calling(...calls: readonly NamedCall[]): string {
  return JSON.stringify(calls);
}

const model = `import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin })) {
  const { messages } = JSON.parse(line).request;
  const text = ({ content }) => content.map((block) => block.text ?? '').join('');
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const calls = JSON.parse(/\\[.*\\]/s.exec(text(messages[asked]))[0]);
  const answers = messages.slice(asked).filter(({ role }) => role === 'tool');
  const next = calls[answers.length];
  const response =
    next?.[0] === 'fail'
      ? { content: [], stop_reason: 'error', error: next[1] }
    : next === undefined
      ? { content: [{ type: 'text', text: text(answers.at(-1)) }], stop_reason: 'end_turn' }
      : { content: [{ type: 'tool_call', id: 'call_1', name: next[0], input: next[1] }], stop_reason: 'tool_call' };
  process.stdout.write(JSON.stringify({ type: 'response', response }) + '\\n');
}
`;
