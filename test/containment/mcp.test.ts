import { beforeAll, describe, expect, it } from 'vitest';

import { mcpArtifact, oddBehaviour, oddServerProgram, sdkServerProgram } from '../support/mcp-artifact.ts';
import { ofOneUser, scoped, sealed, type ScriptedCall, type Setup } from './contained-capsule.ts';
import { MarkedProcesses } from '../../packages/sandbox/test/marked-processes.ts';
import { openCapsule } from './use-capsule.ts';

const setups: readonly Setup[] = [...sealed, ...scoped];
const work = ['--workdir', 'work'];

let sdkServer: string;

beforeAll(async () => {
  sdkServer = await sdkServerProgram();
});

function call(id: string, tool: string, input: Readonly<Record<string, unknown>> = {}): ScriptedCall {
  return { id, tool, input };
}

describe.each(setups)('an MCP server in $name', (setup) => {
  it('has the containment that the grants of its entry give', async (context) => {
    const capsule = await openCapsule(context, setup, {
      calls: [
        call('write', 'notes__write_note', { name: 'a', text: 'hello' }),
        call('own', 'notes__read_note', { path: 'a.txt' }),
        call('beside', 'notes__read_note', { path: '../beside.txt' }),
        call('outside', 'notes__read_note', { path: '../../svc.yaml' }),
        call('environment', 'notes__environment'),
      ],
      manifest: `artifacts: [{ name: notes, version: 1.0.0, source: ./notes, capabilities: { filesystem: { scope: out } } }]\n`,
      capabilities: 'env: { allow: [GREETING] }',
      files: { ...mcpArtifact('notes', sdkServer), 'work/beside.txt': 'beside', 'work/out/keep': '' },
      env: { GREETING: 'hello', SECRET: 'x' },
      args: work,
    });
    const refused = setup.class === 'sealed' ? 'ENOENT: no such file or directory' : 'EACCES: permission denied';
    expect((await capsule.result('write')).text).toBe('written: a');
    expect((await capsule.result('own')).text).toBe('{"text":"hello"}');
    expect((await capsule.result('beside')).text).toContain(`${refused}, open '../beside.txt'`);
    expect((await capsule.result('outside')).text).toContain(`${refused}, open '../../svc.yaml'`);
    expect((await capsule.result('environment')).text).toMatch(/^GREETING HOME LANG PATH SVC_SESSION_ID TERM TMPDIR$/);
  });
});

describe.each(ofOneUser)('an MCP server in $name', (setup) => {
  it('writes nothing when its entry says so', async (context) => {
    const capsule = await openCapsule(context, setup, {
      calls: [call('write', 'notes__write_note', { name: 'a', text: 'hello' })],
      manifest: `artifacts: [{ name: notes, version: 1.0.0, source: ./notes, capabilities: { filesystem: { read_only: true } } }]\n`,
      capabilities: '',
      files: { ...mcpArtifact('notes', sdkServer), 'work/keep': '' },
      args: work,
    });
    const { isError, text } = await capsule.result('write');
    expect(isError).toBe(true);
    expect(text).toMatch(/^(?:EACCES|EROFS): /);
  });

  it.for(['SIGTERM', 'SIGKILL'] as const)(
    'disappears after svc got %s when it heeds neither the end of its input nor a signal',
    async (signal, context) => {
      const marked = new MarkedProcesses();
      context.onTestFinished(() => marked.end());
      const capsule = await openCapsule(context, setup, {
        calls: [call('pid', 'odd__pid')],
        manifest: `artifacts: [{ name: odd, version: 1.0.0, source: ./odd }]\n`,
        capabilities: '',
        files: {
          ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json', marked.sleep(1)),
          'work/behaviour.json': oddBehaviour(['pid'], { habits: ['stays'] }),
        },
        args: work,
        stays: true,
      });
      expect((await capsule.result('pid')).isError).toBe(false);
      expect(await marked.settled(['node of 1'])).toEqual(['node of 1']);
      capsule.process.child.kill(signal);
      await capsule.process.ended;
      expect(await marked.settled([])).toEqual([]);
    },
  );
});

describe.each(ofOneUser)('an MCP server that does not list its tools in $name', (setup) => {
  it('disappears with the session that it kept from starting when it never answers', async (context) => {
    const marked = new MarkedProcesses();
    context.onTestFinished(() => marked.end());
    await expect(
      openCapsule(context, setup, {
        calls: [],
        manifest: `artifacts: [{ name: odd, version: 1.0.0, source: ./odd }]\n`,
        capabilities: 'limits: { deadline: 2 }',
        files: {
          ...mcpArtifact('odd', oddServerProgram(), 'behaviour.json', marked.sleep(1)),
          'work/behaviour.json': oddBehaviour(['pid'], { habits: ['never answers', 'stays'] }),
        },
        args: work,
      }),
    ).rejects.toThrow('error[E-RUN-036]: the server of odd did not list its tools: it did not answer within 2 s');
    expect(await marked.settled([])).toEqual([]);
  });
});
