import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { attributes, conventions, metrics } from './genai-names.ts';

const packages = fileURLToPath(new URL('../../', import.meta.url));
const home = 'telemetry/src/genai-names.ts';
/** A name of the conventions, or one of svc's own attributes, as a text of the code. `mcp.json` and its `mcpServers` are what others write. */
const written =
  /['"`](?:(?:gen_ai|mcp(?!Servers|\.json)|jsonrpc|rpc\.response|network\.(?:transport|protocol)|http\.(?:re|route)|url)\.?[a-z]|svc\.(?:task|session|turn|inference|plan|delegation|spend|telemetry|hook)\b)/;

function filesThatWrite(): readonly string[] {
  const files = readdirSync(packages, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /^[^/]+\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'))
    .filter((file) => written.test(readFileSync(packages + file, 'utf8')));
}

describe('the names of telemetry', () => {
  it('stand in one file', () => {
    expect(filesThatWrite()).toEqual([home]);
  });

  it('come from one text of the conventions', () => {
    expect(conventions.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('differ from each other', () => {
    const names = [...Object.values(attributes), ...Object.values(metrics)];
    expect(new Set(names).size).toBe(names.length);
  });
});
