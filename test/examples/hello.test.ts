import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { traceEventSchemas, traceLine } from '@svc/record/trace/events.ts';
import { readTrace } from '../support/read-trace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const example = fileURLToPath(new URL('../../examples/hello', import.meta.url));

describe('examples/hello', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hello-'));
  const capsule = join(folder, 'hello');
  let stdout = '';
  let sessionId = '';

  beforeAll(async () => {
    cpSync(example, capsule, { recursive: true, filter: (path) => !/\/(workdir|\.svc|svc\.lock)$/.test(path) });
    const home = join(folder, 'home');
    const run = promisify(execFile)(process.execPath, [program, 'run', '-v', '--manifest', join(capsule, 'svc.yaml')], {
      env: { PATH: process.env['PATH'] ?? '', HOME: home },
    });
    ({ stdout } = await run);
    sessionId = /^session: (ses_[0-9a-f]{32})$/m.exec(stdout)?.[1] ?? '';
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('runs to its end and prints the lines of a person', () => {
    const workdir = join(capsule, 'workdir', sessionId);
    expect(stdout).toMatch(/^svc: url localhost:\d+\nsession: ses_/);
    expect(stdout).toContain(`\nworkdir: ${workdir}\nmanifest: hello v1.0.0\n`);
    expect(stdout).toMatch(/\ndriver: svc-driver-script \(script\)\nskills: 1 installed\nstatus: {2}ok\n$/);
  });

  it('leaves the file that the tool wrote and the answer', () => {
    const workdir = join(capsule, 'workdir', sessionId);
    expect(readFileSync(join(workdir, 'greeting.txt'), 'utf8')).toBe(
      'Welcome; open svc.yaml to see what this agent may touch.\n',
    );
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe(
      'The greeting is in greeting.txt and has ten words.',
    );
  });

  it('records a skill, a WebAssembly tool and a command in a trace that keeps to its schema', () => {
    expect(readdirSync(join(capsule, '.svc', 'sessions'))).toEqual([sessionId]);
    const lines = readTrace(join(capsule, '.svc', 'sessions', sessionId, 'trace.jsonl'));
    expect(lines.map((line) => line['event_type'])).toEqual([
      'session_start',
      'task_received',
      'task_start',
      'inference',
      'skill_call',
      'inference',
      'tool_call',
      'file_change',
      'inference',
      'shell',
      'inference',
      'task_end',
      'session_end',
    ]);
    for (const line of lines) {
      const { event_type: type, session_id: session } = traceLine.parse(line);
      expect(session).toBe(sessionId);
      expect(traceEventSchemas[type].extend(traceLine.shape).strict().safeParse(line).error).toBeUndefined();
    }
  });

  it('passes each call, and counts with the command', () => {
    const lines = readTrace(join(capsule, '.svc', 'sessions', sessionId, 'trace.jsonl'));
    const calls = lines.filter((line) => 'is_error' in line);
    expect(calls.map((line) => line['is_error'])).toEqual([false, false, false]);
    expect(calls[2]).toMatchObject({ command_name: 'wc', exit_code: 0 });
  });
});
