import { Readable } from 'node:stream';
import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import type { LaunchedProcess } from '@svc/sandbox/launcher.ts';
import { readLines } from '@svc/sandbox/launched-process.ts';
import { createNativeTool } from '../../src/tools/native-tool.ts';
import { recordingContext } from './tool-context.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is in use once all that nobody holds is gone. */
function bytesInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const count = 256 * 1024;
/** A buffer for each byte takes a hundred bytes and more. */
const maxBytes = 8 * 1024 * 1024;

/** An output of single bytes and then `end`. Before that comes, it says what is in use more than at its beginning. */
function byteByByte(end: string, held: (bytes: number) => void): Readable {
  const bytes = async function* (): AsyncGenerator<Buffer> {
    const before = bytesInUse();
    for (let index = 0; index < count; index += 1) {
      // As bytes come: in turns of the event loop.
      if (index % 4096 === 0) await turnOfTheEventLoop();
      yield Buffer.from(' ');
    }
    await turnOfTheEventLoop();
    held(bytesInUse() - before);
    yield Buffer.from(end);
  };
  return Readable.from(bytes(), { objectMode: false });
}

describe('an output that comes byte by byte', () => {
  it('costs about what it holds where lines are read, of process drivers and of MCP servers', async () => {
    let held = Infinity;
    const lengths: number[] = [];
    for await (const line of readLines(
      byteByByte('x\n', (bytes) => (held = bytes)),
      2 * count,
    )) {
      lengths.push(line.kind === 'too-long' ? -1 : line.bytes.length);
    }
    expect(lengths).toEqual([count + 1]);
    expect(held).toBeLessThan(maxBytes);
  });

  it('costs a native tool about what it answers', async () => {
    let held = Infinity;
    const process: LaunchedProcess = {
      pid: 1,
      stdin: null,
      stdout: byteByByte('{"status":"passed","content":"done"}', (bytes) => (held = bytes)),
      stderr: Readable.from([]),
      ended: Promise.resolve({ kind: 'exited', exitCode: 0 }),
      kill: () => {},
    };
    const tool = createNativeTool({
      name: 'slow',
      description: 'writes a byte at a time',
      inputSchema: { type: 'object' },
      launcher: { launch: async () => ({ kind: 'started', process }) },
      program: '/slow',
      env: {},
      deadlineMs: 100_000,
    });
    expect(await tool.call({}, recordingContext())).toMatchObject({ status: 'passed', content: 'done' });
    expect(held).toBeLessThan(maxBytes);
  });
});
