import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type PinnedTool, pinChange, pinnedTools, pinOf } from './pinned-tools.ts';

const url = new URL('https://mcp.example.com/mcp');
const names = fc.stringMatching(/^[a-z_]{1,12}$/);
const tools: fc.Arbitrary<readonly PinnedTool[]> = fc.uniqueArray(
  fc.record({
    name: names,
    description: fc.string(),
    inputSchema: fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(names, fc.record({ type: fc.constantFrom('string', 'integer') })),
      required: fc.uniqueArray(names),
    }),
  }),
  { selector: ({ name }) => name, minLength: 1 },
);

/** The same JSON with the keys of each object the other way round. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, each]) => [key, turned(each)]),
  );
}

describe('the pin of a list of tools', () => {
  it('stays the same for each order of tools, keys and required names, and with titles and icons', () => {
    fc.assert(
      fc.property(tools, fc.integer({ min: 0 }), (list, by) => {
        const at = by % list.length;
        const other = [...list.slice(at), ...list.slice(0, at)].map((tool) => {
          const { name, description, inputSchema } = tool;
          const { type, properties, required } = inputSchema as { readonly [key: string]: readonly string[] };
          const schema = { type, properties, required: (required ?? []).toReversed() };
          return { name, description, title: 'A title', icons: [], inputSchema: schema };
        });
        const [one, two] = [pinnedTools(list), pinnedTools(turned(other) as readonly unknown[])];
        expect(pinOf(url, two)).toBe(pinOf(url, one));
        expect(pinChange(one, two)).toEqual({ refused: new Set(), change: null });
      }),
      { numRuns: 1000 },
    );
  });

  it('changes with the address, a name, a description and each argument, and names what changed', () => {
    fc.assert(
      fc.property(tools, fc.integer({ min: 0 }), (list, by) => {
        const at = by % list.length;
        const one = pinnedTools(list);
        const changed = list[at];
        if (changed === undefined) return;
        const { name, description, inputSchema } = changed;
        const others: readonly [PinnedTool, RegExp][] = [
          [{ ...changed, name: `${name}0` }, new RegExp(`^gone: ${name}; new: ${name}0$`)],
          [{ ...changed, description: `${description}.` }, new RegExp(`^with another description: ${name}$`)],
          [
            { ...changed, inputSchema: { ...inputSchema, required: ['A'] } },
            new RegExp(`^with other arguments: ${name}$`),
          ],
        ];
        for (const [other, words] of others) {
          const two = pinnedTools(list.toSpliced(at, 1, other));
          expect(pinOf(url, two)).not.toBe(pinOf(url, one));
          expect(pinChange(one, two).change).toMatch(words);
          expect([...pinChange(one, two).refused]).toEqual(words.source.includes('arguments') ? [name] : []);
        }
        expect(pinOf(new URL('https://other.example.com/mcp'), one)).not.toBe(pinOf(url, one));
      }),
      { numRuns: 300 },
    );
  });
});
