import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { InferenceResponse } from '@svc/session/model/driver.ts';
import { says, type Turn } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { A2aCapsule, userMessage, type EventReader, type Json } from './a2a-capsule.ts';

/** What a model does in one turn: the chunks that it says, in how many turns of the event loop, and what it calls. */
interface Said {
  readonly chunks: readonly string[];
  readonly pauses: boolean;
  readonly call: 'look' | 'ask' | null;
}

interface Life {
  readonly turns: readonly Said[];
  readonly end: 'says' | 'fails' | 'empty';
  readonly reopens: number;
  readonly artifacts: number;
  /** After how many turns of the event loop the second stream comes. */
  readonly joinsAfter: number;
  /** After how many it is canceled; null for never. */
  readonly canceledAfter: number | null;
}

const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const said: fc.Arbitrary<Said> = fc.record({
  chunks: fc.array(fc.oneof(text, fc.constantFrom('', '\ud83c', '\udf27')), { maxLength: 5 }),
  pauses: fc.boolean(),
  call: fc.constantFrom('look' as const, 'ask' as const, null),
});
const life: fc.Arbitrary<Life> = fc.record({
  turns: fc.array(said, { maxLength: 4 }),
  end: fc.constantFrom('says' as const, 'fails' as const, 'empty' as const),
  reopens: fc.nat(2),
  artifacts: fc.nat(2),
  joinsAfter: fc.nat(30),
  canceledAfter: fc.option(fc.nat(40), { nil: null, freq: 3 }),
});

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function turnOf({ chunks, pauses, call }: Said): Turn {
  return async (_request, { onText, signal }): Promise<InferenceResponse> => {
    for (const chunk of chunks) {
      if (signal.aborted) break;
      onText(chunk);
      if (pauses) await nextTurn();
    }
    const spoken = chunks.join('');
    const content: InferenceResponse['content'] = [
      ...(spoken === '' ? [] : [{ type: 'text', text: spoken } as const]),
      ...(call === null ? [] : [{ type: 'tool_call', id: 'c', name: call, input: {} } as const]),
    ];
    const stopReason = call === null ? 'end_turn' : 'tool_call';
    return { content, stopReason, usage: { inputTokens: 1, outputTokens: 1 } };
  };
}

/** What a client has put together from a stream. */
class Rebuilt {
  readonly artifacts = new Map<string, string>();
  status: Json = {};
  readonly ends: number[] = [];

  constructor(events: readonly Json[]) {
    for (const [index, { task, statusUpdate, artifactUpdate }] of events.entries()) {
      if (task !== undefined) {
        for (const { artifactId, parts } of task.artifacts ?? [])
          this.artifacts.set(artifactId, parts[0].text as string);
      }
      const status = task?.status ?? statusUpdate?.status;
      if (status !== undefined) this.status = status as Json;
      if (/COMPLETED|FAILED|CANCELED/.test(status?.state as string)) this.ends.push(index);
      if (artifactUpdate === undefined) continue;
      const { artifact, append } = artifactUpdate;
      const before = append === true ? (this.artifacts.get(artifact.artifactId as string) ?? '') : '';
      this.artifacts.set(artifact.artifactId as string, before + (artifact.parts[0].text as string));
    }
  }
}

let capsules: A2aCapsule[] = [];
beforeAll(() => {
  capsules = [];
});
afterAll(async () => {
  await Promise.all(capsules.map((capsule) => capsule.close()));
});

async function lived({ turns, end, reopens, artifacts, joinsAfter, canceledAfter }: Life): Promise<{
  readonly first: readonly Json[];
  readonly second: readonly Json[] | null;
  readonly task: Json;
}> {
  let reopened = 0;
  const last: Turn = end === 'fails' ? { kind: 'failed', error: 'gone' } : says(end === 'empty' ? '' : 'The end.');
  const capsule = await A2aCapsule.open({
    maxTurns: 20,
    maxReopens: reopens,
    turns: [...turns.map(turnOf), last, ...Array.from({ length: 10 }, () => says('Again.'))],
    tools: [
      fakeTool('look'),
      fakeTool('ask', async (_args, context) => passed((await context.requestInput('Which?')).kind)),
    ],
    hooks: {
      mayReopen: reopens > 0,
      taskEnded: async () => (reopened++ < reopens ? { kind: 'reopen', feedback: 'Once more.' } : { kind: 'accepted' }),
      takeArtifacts: () => Array.from({ length: artifacts }, (_, index) => ({ hookName: 'hook', content: `${index}` })),
    },
  });
  capsules.push(capsule);
  let follow = (): void => {};
  const followed = new Promise<void>((resolve) => (follow = resolve));
  const { board } = capsule.run().fixture.session;
  capsule.fixture.activity.subscribe((activity) => {
    if (activity.kind !== 'question') return;
    void followed.then(nextTurn).then(() => board.answer(activity.question, { text: 'this one', sender: null }));
  });
  const sent = await capsule.stream('SendStreamingMessage', userMessage('Live.'));
  const id = sent.events[0]?.['task'].id as string;
  // The stream of the message ends at the first question, a subscription with the task.
  if (turns.some(({ call }) => call === 'ask')) await sent.whole();
  const asks = sent.lines.at(-1) === 'status INPUT_REQUIRED';
  const first = asks ? await capsule.stream('SubscribeToTask', { id }) : sent;
  follow();
  const later = async (): Promise<EventReader | null> => {
    for (let turn = 0; turn < joinsAfter; turn += 1) await nextTurn();
    return await capsule.stream('SubscribeToTask', { id }).catch(() => null);
  };
  const cancel = async (): Promise<void> => {
    if (canceledAfter === null) return;
    for (let turn = 0; turn < canceledAfter; turn += 1) await nextTurn();
    await capsule.answer('CancelTask', { id });
  };
  const [second] = await Promise.all([later(), cancel()]);
  const [one, other] = [await first.whole(), (await second?.whole()) ?? null];
  return { first: one, second: other, task: await capsule.result('GetTask', { id }) };
}

it('a task’s streams, put together, are what GetTask shows, whatever happens in which order', async () => {
  await fc.assert(
    fc.asyncProperty(life, async (one) => {
      const { first, second, task } = await lived(one);
      for (const events of [first, second]) {
        // A stream that came too late was refused in the one event that it got.
        if (events === null || events[0]?.['code'] === -32004) continue;
        const rebuilt = new Rebuilt(events);
        const shown = new Map(
          (task['artifacts'] ?? []).map((each: Json) => [each['artifactId'], each['parts'][0].text]),
        );
        expect(Object.fromEntries(rebuilt.artifacts)).toEqual(Object.fromEntries(shown));
        expect(rebuilt.status).toEqual(task['status']);
        // It ends once, with its last event.
        expect(rebuilt.ends).toEqual([events.length - 1]);
      }
      if (second === null || second[0]?.['code'] === -32004) return;
      const rest = second.slice(1);
      expect(first.slice(first.length - rest.length)).toEqual(rest);
    }),
    { numRuns: 60 },
  );
}, 120_000);
