import { expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseArtifactManifest } from './artifact-manifest.ts';

function problems(...lines: readonly string[]): readonly string[] {
  try {
    parseArtifactManifest(['name: notes', 'version: 1.0.0', ...lines, ''].join('\n'), 'svc.yaml');
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(({ code, message, location }) => `${code} line ${location?.line}: ${message}`);
  }
  return [];
}

const tool = ['runtime: tool', 'implementation: mcp'];

it.each([
  ['a file of the archive', 'command: [bin/server]'],
  ['a file of the archive and its arguments', "command: [bin/server.mjs, --root, '.', '']"],
  ['a program of the host', 'command: [npx, -y, some-server]'],
])('an MCP server is %s', (_, command) => {
  expect(problems(...tool, command)).toEqual([]);
});

it.each([
  ['/usr/bin/node'],
  ['./server'],
  ['bin/../server'],
  ['bin/sub/server'],
  ['bin/.hidden'],
  ['bin/'],
  ['../server'],
  ['-server'],
  ['my server'],
])('the command of an MCP server does not begin with %j', (program) => {
  expect(problems(...tool, `command: [${JSON.stringify(program)}]`)).toEqual([
    `E-MAN-003 line 5: command[0] must be bin/<file>, a program of the archive, or the bare name of a program of the host, not ${JSON.stringify(program)}`,
  ]);
});

it.each([
  ['nothing', tool, ['E-MAN-001 line 1: command is missing']],
  ['no word', [...tool, 'command: []'], ['E-MAN-001 line 5: command[0] is missing']],
  ['a line of text', [...tool, 'command: bin/server'], ['E-MAN-003 line 5: command must be a list, not text']],
  ['a word with a null character', [...tool, 'command: [bin/server, "a\\0"]'], [expect.stringMatching(/null/)]],
  ['101 words', [...tool, `command: [${Array(101).fill('x').join()}]`], [expect.stringMatching(/^E-MAN-003/)]],
  [
    'a schema of its own',
    [...tool, 'command: [bin/server]', 'input_schema: { type: object }'],
    ['E-MAN-003 line 6: input_schema cannot stand beside implementation: mcp'],
  ],
  [
    'the part of a driver',
    ['runtime: driver', 'implementation: mcp', 'command: [bin/server]'],
    ['E-MAN-003 line 4: implementation: mcp is for runtime: tool'],
  ],
  [
    'a native program',
    ['runtime: tool', 'implementation: native', 'command: [bin/server]'],
    ['E-MAN-003 line 5: command is for implementation: mcp'],
  ],
])('an MCP server that is %s is refused', (_, lines, expected) => {
  expect(problems(...lines)).toEqual(expected);
});
