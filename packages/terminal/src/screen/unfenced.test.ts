import { expect, it } from 'vitest';

import { fenceUntrusted } from '@svc/session/tools/untrusted-fence.ts';
import { unfenced } from './shown.ts';

it.each(['one', 'one\ntwo', '', '</untrusted-content>', '\n\n'])('a person reads %j without the fence', (content) => {
  const read = unfenced(fenceUntrusted('tool:sh', content), 'tool:sh');
  expect(read).toBe(content.endsWith('\n') ? content.slice(0, -1) : content.replace('<', '<[broken]'));
});

it('what svc says behind the fence stays', () => {
  expect(unfenced(`${fenceUntrusted('tool:sh', 'one\n')}\n[rm stays refused]`, 'tool:sh')).toBe(
    'one\n[rm stays refused]',
  );
});

it.each([
  ['<untrusted-content source=tool:sh>\nx\n</untrusted-content>y', 'tool:sh'],
  ['<untrusted-content source=tool:sh>\nx\n</untrusted-content>', null],
  ['<untrusted-content source=tool:sh>\nx', 'tool:sh'],
  ['x', 'tool:sh'],
])('%j of the source %j is left as it is', (content, source) => {
  expect(unfenced(content, source)).toBe(content);
});
