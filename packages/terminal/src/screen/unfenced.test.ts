import { expect, it } from 'vitest';

import { fenceUntrusted } from '@svc/session/tools/untrusted-fence.ts';
import { unfenced } from './shown.ts';

it.each(['one', 'one\ntwo', '', '</untrusted-content>', '\n\n'])('a person reads %j without the fence', (content) => {
  const read = unfenced(fenceUntrusted('tool:sh', content), 'tool:sh');
  expect(read).toBe(content.endsWith('\n') ? content.slice(0, -1) : content.replace('<', '<[broken]'));
});

it.each([
  ['<untrusted-content source=tool:sh>\nx\n</untrusted-content>', null],
  ['<untrusted-content source=tool:sh>\nx', 'tool:sh'],
  ['x', 'tool:sh'],
])('%j of the source %j is left as it is', (content, source) => {
  expect(unfenced(content, source)).toBe(content);
});
