import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const startFile = fileURLToPath(new URL('../../dist/svc.cjs', import.meta.url));

/** What not every capsule needs belongs behind an `import()`, which makes a file of its own of it (docs/adr/start-and-bundle.md "One file a start"). */
const maxBytes = 340_000;

it(`every start of svc reads less than ${maxBytes} bytes of JavaScript`, () => {
  expect(statSync(startFile).size).toBeLessThan(maxBytes);
});
