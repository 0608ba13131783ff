import { afterEach, expect, it, vi } from 'vitest';

import type { OpenBody } from '@svc/kit/http/open-body.ts';
import type { EventRelay } from './event-relay.ts';
import { tellNow } from './live-relay.ts';

const settled = `event: task_settled\ndata: {"task_id":"t"}\n\n`;

afterEach(() => void vi.useRealTimers());

it('a reader behind the end gets nothing of what runs right now, also where a line had to wait for it', async () => {
  vi.useFakeTimers();
  const waiting: ((isThere: boolean) => void)[] = [];
  const body = {
    gone: new AbortController().signal,
    put: async () => await new Promise<boolean>((resolve) => waiting.push(resolve)),
  };
  const relay = {
    pass: async ({ put }: { readonly put: (bytes: string) => Promise<boolean> }) => {
      await put(settled);
      await vi.advanceTimersByTimeAsync(50);
      await put(settled);
    },
  };
  await tellNow(relay as unknown as EventRelay, body as unknown as OpenBody);
  expect(waiting).toHaveLength(1);
  waiting[0]?.(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect(waiting).toHaveLength(1);
});
