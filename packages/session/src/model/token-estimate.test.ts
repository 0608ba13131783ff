import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { Message } from './driver.ts';
import { estimateRequest, estimateTokens } from './spend-meter.ts';

it('a request is estimated by the length of its JSON, message by message', () => {
  const message = fc.string().map((text): Message => ({ role: 'user', content: [{ type: 'text', text }] }));
  fc.assert(
    fc.property(fc.array(message), fc.string(), (messages, system) => {
      const request = { model: 'm', system, messages, tools: [], maxTokens: 10, continuationId: 'x' };
      expect(estimateRequest(request)).toBe(estimateTokens(request));
      expect(estimateRequest(request)).toBe(estimateTokens(request));
    }),
  );
});
