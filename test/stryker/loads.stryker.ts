import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..', 'packages');
const states = ['task', 'event-stream', 'replay-buffer'];
const rules = ['address-class', 'address-rule', 'network-coverage'];
const mutated = [
  ...['protocol/src', 'artifacts/src/grants', 'referee/src'].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => join(room, name)),
  ),
  ...rules.map((name) => join('kit/src/net', `${name}.ts`)),
  ...states.map((name) => join('svc/src/session', `${name}.ts`)),
].filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== join('referee/src', 'main.ts'));

/** What cannot be loaded fails a whole file and no test of it, which a mutant would survive: so each file is loaded in a test too. */
describe('a file that is mutated', () => {
  it.each(mutated)('can be loaded: %s', async (file) => {
    expect(await import(/* @vite-ignore */ join(root, file))).toBeDefined();
  });
});
