import { describe, expect, it } from 'vitest';

import { exactly } from './asked-again.ts';

const place = 'tsk_1/1/m1';

function asked(
  input: unknown,
  name = 'm',
  port: 'model' | 'tool' = 'model',
): Parameters<ReturnType<typeof exactly>>[0]['now'] {
  return { port, name, input };
}

function said(text: string): object {
  return { role: 'user', content: [{ type: 'text', text }] };
}

describe('what is asked for again', () => {
  it('fails where its port, name or input differs', () => {
    const judge = exactly();
    expect(judge({ place, recorded: asked({ a: 1 }, 'sh', 'tool'), now: asked({ a: 1 }, 'sh', 'tool') })).toBeNull();
    expect(judge({ place, recorded: asked({ a: 1 }, 'sh', 'tool'), now: asked({ a: 1 }, 'rm', 'tool') })).toEqual({
      problem: 'asks for rm where the recording has tool sh',
    });
    expect(judge({ place, recorded: asked({ a: 1 }, 'sh', 'tool'), now: asked({ a: 2 }, 'sh', 'tool') })).toEqual({
      problem: 'is asked with other input',
      path: '/a',
      recorded: 1,
      now: 2,
    });
  });

  it('must match in all its messages, whichever of them earlier requests had', () => {
    const judge = exactly();
    const [first, again] = [said('Go.'), said('Go.')];
    const one = { model: 'm', messages: [first], maxTokens: 9 };
    expect(judge({ place, recorded: asked(one), now: asked({ ...one, messages: [again] }) })).toBeNull();
    for (const [recorded, now, path] of [
      [[first, said('a')], [again, said('b')], '/messages/1/content/0/text'],
      [[first], [said('Stop.')], '/messages/0/content/0/text'],
      [[said('Stop.')], [again], '/messages/0/content/0/text'],
      [[first], [again, said('b')], '/messages/1'],
      [[first, said('a')], [again], '/messages/1'],
      [[first, null], [again, said('a')], '/messages/1'],
    ] as const) {
      const fault = judge({
        place,
        recorded: asked({ ...one, messages: recorded }),
        now: asked({ ...one, messages: now }),
      });
      expect(fault?.path).toBe(path);
    }
    expect(judge({ place, recorded: asked(one), now: asked({ ...one, 'a/b': 1 }) })?.path).toBe('/a~1b');
    expect(judge({ place, recorded: asked(one), now: asked({ ...one, maxTokens: 8 }) })?.path).toBe('/maxTokens');
  });

  it('looks once at a message that requests have in common', () => {
    let looks = 0;
    const seen = (message: object): object =>
      new Proxy(message, {
        ownKeys: (target) => {
          looks += 1;
          return Reflect.ownKeys(target);
        },
      });
    const judge = exactly();
    const [recorded, now] = [[] as object[], [] as object[]];
    for (let turn = 1; turn <= 50; turn += 1) {
      recorded.push(said(`turn ${turn}`));
      now.push(seen(said(`turn ${turn}`)));
      expect(
        judge({ place, recorded: asked({ messages: [...recorded] }), now: asked({ messages: [...now] }) }),
      ).toBeNull();
    }
    expect(looks).toBe(50);
  });
});
