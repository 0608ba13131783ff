import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { packedDocument, pageDocument } from '../../../scripts/build-viewer.mjs';

/** In bytes, of the whole document as it is served to a browser. docs/adr/terminal-and-viewer.md "What the bytes of the page are" says what it is made of. */
const maxBytes = 39_600;

it(`the page takes less than ${maxBytes} bytes, packed`, async () => {
  const document = await pageDocument(fileURLToPath(new URL('../../..', import.meta.url)));
  expect((await packedDocument(document)).length).toBeLessThan(maxBytes);
});
