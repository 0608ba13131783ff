import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { recordSchemas } from '@svc/record/journal/records.ts';
import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { sectionsOf, shownAs } from '../guide/listings.ts';
import { Reader } from '../guide/reader.ts';

const page = readFileSync(new URL('../../docs/journal.md', import.meta.url), 'utf8');

describe('docs/journal.md', () => {
  it('comes with the schemas of every record', async () => {
    const frame = z.object({ n: z.int().min(0), c: z.string().regex(/^[0-9a-f]{16}$/) });
    const lines = Object.entries(recordSchemas).map(([kind, schema]) =>
      z.intersection(frame.extend({ k: z.literal(kind) }), schema).meta({ title: kind }),
    );
    const schema = z.toJSONSchema(z.union(lines).meta({ title: 'A line of journal.jsonl' }), { io: 'input' });
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot('../../docs/journal.schema.json');
  });

  it('has schemas that every line of a journal fits, and no line that lacks something', () => {
    const schema = JSON.parse(
      readFileSync(new URL('../../docs/journal.schema.json', import.meta.url), 'utf8'),
    ) as object;
    const fits = new Ajv2020({ strict: false }).compile(schema);
    const folder = mkdtempSync(join(tmpdir(), 'svc-journal-'));
    try {
      const session = new RecordedSession(folder)
        .task('Run.')
        .model('Yes.', ['sh'])
        .shell('ls', 'a', 1)
        .taskEnd()
        .close();
      const text = readFileSync(join(session.folder, 'journal.jsonl'), 'utf8');
      const lines = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.filter((line) => !fits(line))).toEqual([]);
      for (const [key, value] of [
        ['c', undefined],
        ['k', 'x'],
        ['n', -1],
      ] as const) {
        expect(lines.filter((line) => fits(Object.assign({}, line, { [key]: value })))).toEqual([]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has a row for every record, with each of its keys there or in a section of its own', () => {
    const rows = new Map(
      [...page.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)].map(([, kind = '', keys = '']) => [kind, keys]),
    );
    const sections = new Map(
      [...page.matchAll(/^#### `([a-z-]+)`\n((?:(?!#).*\n)*)/gm)].map(([, kind = '', text = '']) => [kind, text]),
    );
    for (const [kind, schema] of Object.entries(recordSchemas)) {
      const told = `${rows.get(kind)}${sections.get(kind) ?? ''}`;
      const shapes = 'options' in schema ? schema.options.map(({ shape }) => shape) : [schema.shape];
      const keys = new Set(shapes.flatMap((shape) => Object.keys(shape)));
      expect(
        [...keys].filter((key) => !told.includes(`\`${key}`)),
        kind,
      ).toEqual([]);
    }
  });

  it('shows a program that reads a journal, which works', async () => {
    const reader = new Reader();
    try {
      new RecordedSession(reader.folder)
        .task('Do the tests pass?')
        .model('I run the tests.', ['sh'])
        .shell('npm test', '1 test failed', 1)
        .model('One test fails.')
        .taskEnd()
        .close();
      const listings = sectionsOf(page).flatMap((section) => section.listings);
      expect(listings.map(({ kind }) => kind)).toEqual(['file', 'commands']);
      for (const listing of listings) {
        if (listing.kind === 'file') reader.write(listing.path, listing.text);
        else if (listing.kind === 'commands') {
          const { code, output } = await reader.type(listing);
          expect({ code, output }).toEqual({ code: 0, output: listing.output });
          expect(output).toMatch(shownAs('One test fails.'));
        }
      }
    } finally {
      await reader.remove();
    }
  });
});
