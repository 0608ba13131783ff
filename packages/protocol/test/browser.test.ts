import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';

import { build } from 'esbuild';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../src/', import.meta.url));

/** What a MAC is made with is not in a browser, which mints no handles and verifies none. */
const nodeAlone: ReadonlySet<string> = new Set(['peer-handle.ts']);

it('all but the MAC of handles runs without Node', async () => {
  const files = readdirSync(folder).filter((file) => !file.endsWith('.test.ts') && !nodeAlone.has(file));
  const contents = files.map((file, index) => `export * as module${index} from './${file}';`).join('\n');
  const bundle = await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'protocol',
    write: false,
  });
  const context = createContext({ TextDecoder, TextEncoder, URL, URLSearchParams, Uint8Array });
  runInContext(bundle.outputFiles[0]?.text ?? '', context);
  const read = `const { FrameReader } = Object.values(protocol).find((each) => each.FrameReader);
    const { decodeFrame } = Object.values(protocol).find((each) => each.decodeFrame);
    const [frame] = new FrameReader().read(new TextEncoder().encode('id: 7\\nevent: text\\ndata: {"id":"t","text":"a"}\\n\\n'));
    JSON.stringify([frame.id, decodeFrame(frame)])`;
  expect(runInContext(read, context)).toBe('["7",{"event":"text","taskId":"t","text":"a","final":false}]');
});
