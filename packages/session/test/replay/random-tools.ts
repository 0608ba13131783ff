/** The tools of random sessions: some in this process, those of a server on the web, skills, and plans of them all. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { heldRequest } from '@svc/kit/keys/held-request.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { RemoteMcpServer } from '../../../../test/support/remote-server.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import type { Recorder } from '../../src/recorder/recorder.ts';
import { recordedCapsuleSteps } from '../../src/recorder/recorded-effects.ts';
import { createMcpTools } from '../../src/tools/mcp/mcp-tools.ts';
import { pinnedTools } from '../../src/tools/mcp/pinned-tools.ts';
import { remoteServer } from '../../src/tools/mcp/remote-server.ts';
import { ToolServer } from '../../src/tools/mcp/tool-server.ts';
import { nothingRan } from '../../src/tools/plan/capsule-step.ts';
import { createSubmitPlanTool } from '../../src/tools/plan/submit-plan-tool.ts';
import { createSkillFolderTool } from '../../src/tools/skill-folder-tool.ts';
import { allowedTools, shownPermits } from '../../src/tools/skills/allowed-tools.ts';
import { neverReached, type Tool } from '../../src/tools/tool.ts';
import { aWhile, chance, oneOf } from './left-to-chance.ts';

/** What people are asked about before a call, and in its middle. */
export const approvalRules = [
  { ask: { tool: 'web__book' } },
  { ask: { tool: 'work', path: 'config/**' } },
  { deny: { tool: 'work', path: 'locked/**' } },
  { ask: { request: 'POST https://api.test/**' } },
];

const listed = [
  {
    name: 'echo',
    description: 'Says it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  { name: 'book', description: 'Books a table.', inputSchema: { type: 'object', properties: {} } },
];

const form = {
  mode: 'form',
  message: 'Which table?',
  requestedSchema: { type: 'object', properties: { seats: { type: 'integer' }, window: { type: 'boolean' } } },
};

/** A server with the official library, for all sessions. */
export const remote: RemoteMcpServer = await RemoteMcpServer.start();
remote.ways.tools = listed;
remote.ways.forms = [form];
remote.ways.answer = (text) => {
  if (text === 'fail') throw new Error('it does not work');
  return `${text} ${Math.random()}`;
};

/** The tools of one session, and what ends their connections. `directory` is the session's own. */
export function randomTools(
  directory: string,
  recorder: Recorder,
): { readonly tools: readonly Tool[]; readonly close: () => Promise<void> } {
  remote.ways.isModern = chance(2);
  const server = new ToolServer(
    {
      name: 'web',
      place: remoteServer({ url: new URL(remote.url), allow: [], proxyFor: null, headers: {} }),
      pinned: pinnedTools(listed),
      deadlineMs: 20_000,
      sessionDirectory: directory,
      logs: new LogBudget(),
      cutBefore: (text) => text,
      version: '1',
      clock: { monotonicMs: () => 0 },
      onChange: () => {},
    },
    { tools: listed, leftOut: [] },
  );
  const served = createMcpTools({ name: 'web', description: '', server, listed, names: new Map() });
  const called = [ask, work, ...served];
  const skills = [
    { ...skill, permits: [{ tool: 'work' }] },
    folderSkill('guide', directory, { words: ['mcp__web', 'work'], called }),
    folderSkill('narrow', directory, { words: ['mcp__web__echo', 'Bash(git:*)'], called }),
  ];
  return { tools: [...called, ...skills, planTool(directory, recorder)], close: () => server.close() };
}

const ask = fakeTool('ask', async (_args, { requestInput, signal }) => {
  const answer = await requestInput('Which?');
  await aWhile();
  signal.throwIfAborted();
  return passed(answer.kind === 'answered' ? answer.text : 'nothing');
});

const work = fakeTool('work', async (args, { emitText, record, signal, judgeChange, requests }) => {
  await aWhile();
  if (chance(3)) emitText('working');
  if (chance(8)) record({ event_type: 'logs_limit_reached', max_bytes: 1 });
  if (chance(20)) await promisify(execFile)('true');
  await aWhile();
  signal.throwIfAborted();
  if (chance(6)) {
    const path = `${oneOf(['config', 'locked', 'src'])}/app`;
    await judgeChange?.({ operation: 'write', path, to: null, isTree: false, isLinked: false });
  }
  if (chance(10)) await requests?.ask(request);
  if (chance(5)) return { ...passed('no'), status: 'failed' };
  return passed(`${JSON.stringify(args).length}-${Math.random()}`);
});

const request = heldRequest(
  { origin: 'https://api.test', method: 'POST', target: '/x', headers: [] },
  Buffer.from('{}'),
);

/** One whose text is for the arguments that its caller gives. */
const skill: Tool = {
  ...fakeTool('skill', async (_args, { signal }) => {
    await aWhile();
    signal.throwIfAborted();
    return chance(5) ? neverReached('it has changed') : passed(`For $ARGUMENTS: ${Math.random()}`);
  }),
  kind: 'skill',
};

/** A folder with files, which narrows the calls of its task to what these words of `allowed-tools` stand for. */
function folderSkill(
  name: string,
  directory: string,
  { words, called }: { readonly words: readonly string[]; readonly called: readonly Tool[] },
): Tool {
  const { permits } = allowedTools(words, called, { root: '', scripts: {} });
  const read = async (file: string): Promise<Buffer> => await readFile(join(directory, `${name}-${file}`));
  const files = { 'notes.md': `Notes of ${name}: ${Math.random()}`, 'long.md': `${name} `.repeat(12_000) };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, `${name}-${file}`), text);
  const about = {
    name,
    version: '1.0.0',
    description: name,
    text: () => `Use it as ${name} says.`,
    place: `.skills/${name}/`,
  };
  const tool = createSkillFolderTool({
    ...about,
    files: Object.keys(files),
    limits: () => shownPermits(permits),
    read,
  });
  return { ...tool, permits };
}

function planTool(sessionDirectory: string, recorder: Recorder): Tool {
  return createSubmitPlanTool({
    sessionDirectory,
    redact: (text) => text,
    clock: { monotonicMs: () => 0, now: () => 0 },
    runCapsuleStep: recordedCapsuleSteps(async (_step, { record }) => {
      await aWhile();
      if (chance(2)) record({ event_type: 'logs_limit_reached', max_bytes: 2 });
      return chance(3)
        ? nothingRan('refused')
        : { ...nothingRan(''), status: 'passed', reached: true, output: `${Math.random()}` };
    }, recorder),
  });
}
