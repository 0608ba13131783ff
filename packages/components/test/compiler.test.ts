import { setTimeout as after } from 'node:timers/promises';

import { afterEach, describe, expect, it, vi } from 'vitest';

import type { CompilerAnswer } from '../src/compiler/transpiled-component.ts';
import { Compiler } from '../src/compiler/compiler.ts';
import { componentProcesses } from '../../../test/support/component-processes.ts';
import { answering, componentText } from './support/component-text.ts';
import { packageRoot } from './support/hosted-tool.ts';

vi.setConfig({ testTimeout: 120_000 });

const compiler = new Compiler(packageRoot);

afterEach(async () => {
  await compiler.close();
});

async function compileAtOnce(count: number): Promise<Promise<CompilerAnswer>[]> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const sources = await Promise.all(numbers.map((number) => componentText(answering(`i32.const ${number}`))));
  return sources.map(({ wasm }) => compiler.compile(wasm as Uint8Array));
}

function compilers(): number {
  return componentProcesses(process.pid, 'compiler-process.mjs').length;
}

describe('the compiler', () => {
  it('runs twice at once at most, and in the end for everybody', async () => {
    const answers = await compileAtOnce(6);
    const ended = { count: 0 };
    for (const answer of answers) void answer.finally(() => (ended.count += 1));
    let most = 0;
    while (ended.count < answers.length) {
      most = Math.max(most, compilers());
      await after(5);
    }
    expect(most).toBe(2);
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(answers.map(() => 'transpiled'));
  });

  it('ends with what waits for it when it is closed, and compiles again afterwards', async () => {
    const answers = await compileAtOnce(5);
    await vi.waitFor(() => expect(compilers()).toBe(2), { timeout: 60_000, interval: 5 });
    await compiler.close();
    expect(await Promise.all(answers)).toEqual(
      answers.map(() => ({ kind: 'refused', reason: 'compiling it took too long or was ended' })),
    );
    expect(compilers()).toBe(0);
    const [again] = await compileAtOnce(1);
    expect((await again)?.kind).toBe('transpiled');
  });
});
