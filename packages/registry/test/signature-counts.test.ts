import { afterEach, describe, expect, it, vi } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { FileStore } from '../src/file-store.ts';
import { SignatureCounts } from '../src/signature-counts.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { RegistryKit, toolArchive } from './registry-kit.ts';

/** A store whose answers are given by hand. */
class SlowStore {
  readonly asked: string[] = [];
  readonly faults: Diagnostic[] = [];
  readonly #answers: ((count: number | Diagnostic) => void)[] = [];
  readonly counts = new SignatureCounts({ store: this, onFault: (fault) => this.faults.push(fault) });

  async count(sha256: string): Promise<number> {
    this.asked.push(sha256);
    return await new Promise((resolve, reject) => {
      this.#answers.push((count) => (count instanceof Diagnostic ? reject(count) : resolve(count)));
    });
  }

  answer(count: number | Diagnostic): void {
    const next = this.#answers.shift();
    if (next === undefined) throw new Error('nothing was asked');
    next(count);
  }

  async of(...hashes: readonly string[]): Promise<(number | null)[]> {
    return [...(await this.counts.of(hashes)).values()];
  }
}

const gone = new Diagnostic('E-REG-025', 'the store does not answer');

afterEach(() => {
  vi.restoreAllMocks();
});

function timeIs(ms: number): void {
  vi.spyOn(systemClock, 'monotonicMs').mockReturnValue(ms);
}

describe('counts of signatures', () => {
  it('cost one question for all who ask meanwhile, fresh from its end on', async () => {
    const store = new SlowStore();
    timeIs(0);
    const both = [store.of('a', 'a'), store.of('a')];
    expect(store.asked).toEqual(['a']);
    timeIs(5_000);
    both.push(store.of('a'));
    store.answer(3);
    expect(await Promise.all(both)).toEqual([[3], [3], [3]]);
    timeIs(6_999);
    expect(await store.of('a')).toEqual([3]);
    expect(store.asked).toEqual(['a']);
    timeIs(7_000);
    const later = store.of('a');
    store.answer(4);
    expect([await later, store.asked]).toEqual([[4], ['a', 'a']]);
  });

  it('start anew for what came while it was counted', async () => {
    const store = new SlowStore();
    const before = store.of('a');
    store.counts.forget('a');
    store.answer(0);
    expect(await before).toEqual([0]);
    const after = store.of('a');
    store.answer(1);
    expect([await after, await store.of('a')]).toEqual([[1], [1]]);
  });

  it('stay at the last answer where the store fails, with one report and no more questions', async () => {
    const store = new SlowStore();
    timeIs(0);
    const first = store.of('a');
    store.answer(2);
    await first;
    timeIs(10_000);
    const hashes = ['a', ...Array.from({ length: 100 }, (_, n) => `b${n}`)];
    const failing = store.of(...hashes);
    for (let n = 0; n < 32; n += 1) store.answer(gone);
    expect(await failing).toEqual([2, ...Array.from({ length: 100 }, () => null)]);
    expect([store.asked.length, store.faults]).toEqual([33, [gone]]);
  });
});

describe('a registry whose store of signatures fails', () => {
  it('lists and shows what it knows all the same', async () => {
    const store = await FileStore.open(temporaryDirectory());
    const count = vi.spyOn(store.signatures, 'count').mockRejectedValue(gone);
    const kit = await RegistryKit.open({ store });
    await kit.publish('name=echo&version=1.0.0&runtime=wasm', await toolArchive('echo'));
    const { status, body } = await kit.ask('GET /v1/artifacts/echo');
    expect([status, JSON.parse(body)]).toEqual([
      200,
      expect.objectContaining({
        versions: [expect.objectContaining({ archives: [expect.objectContaining({ signatures: null })] })],
      }),
    ]);
    for (const [path, said] of [
      ['/-/echo', '<td>not known now</td>'],
      ['/-/echo/1.0.0', '<td>not known now</td>'],
    ] as const) {
      const page = await kit.ask(`GET ${path}`);
      expect([page.status, page.body.includes(said)], path).toEqual([200, true]);
    }
    expect([kit.faults, kit.bugs]).toEqual([[gone], []]);
    expect(count).toHaveBeenCalledTimes(1);
  });

  it('gets questions about the rows of a page alone', async () => {
    const store = await FileStore.open(temporaryDirectory());
    const count = vi.spyOn(store.signatures, 'count');
    const kit = await RegistryKit.open({ store });
    for (let n = 0; n < 103; n += 1) {
      const version = `1.0.${n}`;
      await kit.publish(`name=echo&version=${version}&runtime=wasm`, await toolArchive('echo', version));
    }
    for (const [path, questions] of [
      ['/-/echo/1.0.0', 1],
      ['/-/echo?page=2', 2],
      ['/-/echo', 100],
    ] as const) {
      const { status } = await kit.ask(`GET ${path}`);
      expect([path, status, count.mock.calls.length]).toEqual([path, 200, questions]);
      count.mockClear();
    }
  });
});
