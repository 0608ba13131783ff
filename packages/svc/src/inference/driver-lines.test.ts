import { expect, it } from 'vitest';

import { exitSentence, readDriverLine } from './driver-lines.ts';

function said(...lines: readonly string[]): string {
  return exitSentence('the driver', {
    end: { kind: 'exited', exitCode: 1 },
    midLine: false,
    stderr: lines.join('\n'),
  });
}

it('tells the line that names the error, where a program says it between its first and its last', () => {
  expect(
    said(
      'node:internal/modules/cjs/loader:1210',
      '  throw err;',
      '  ^',
      '',
      "Error: Cannot find module '/work/nope.mjs'",
      '    at Module._resolveFilename (loader:1207:15)',
      '    at run_main:128:12',
      '    at main:28:49 {',
      "  code: 'MODULE_NOT_FOUND',",
      '  requireStack: []',
      '}',
      '',
      'Node.js v20.20.2',
    ),
  ).toBe(
    'the driver exited with status 1 before its response: node:internal/modules/cjs/loader:1210\n  throw err;\n…\n' +
      "Error: Cannot find module '/work/nope.mjs'\n…\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2",
  );
});

it('tells the first and the last lines of what names none', () => {
  expect(said('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')).toBe(
    'the driver exited with status 1 before its response: a\nb\n…\nd\ne\nf\ng\nh',
  );
});

it('reads a line that begins with a byte order mark, as some programs write it', () => {
  const bytes = Buffer.from('\ufeff{"a":1}');
  expect(readDriverLine({ kind: 'line', bytes }, 'the driver')).toEqual({ kind: 'value', value: { a: 1 } });
});
