/** Reads the files of a wall: what others really send, each with its source, its date and the right outcome. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';
import * as z from 'zod';

/** What each file of a wall begins with. */
export const origin = {
  /** Who sends this, and what kind of report said so. */
  source: z.string().min(10),
  date: z.string().regex(/^\d{4}-\d\d-\d\d$/),
};

/** Stands for `$each` in the rest of a case, one after another. */
export const each = z.array(z.string()).min(1).optional();

/** A title, and what is played under it. */
export type Case<Given> = readonly [title: string, given: Given];

/** The files of a folder of this one, each behind its name. */
export function readWall<File extends z.ZodType>(
  folder: string,
  file: File,
): readonly (readonly [name: string, file: z.output<File>])[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path).map((name) => {
    const read = file.safeParse(parse(readFileSync(join(path, name), 'utf8')));
    if (!read.success) throw new Error(`${folder}/${name}: ${z.prettifyError(read.error)}`);
    return [name, read.data];
  });
}

/** The cases of a file; one with `each` once for each of its words, which the title then names. */
export function casesOf<Given extends { readonly each?: readonly string[] | undefined }>(
  written: Readonly<Record<string, Given>>,
  shape: z.ZodType<Given>,
): readonly Case<Given>[] {
  return Object.entries(written).flatMap(([title, given]): readonly Case<Given>[] => {
    const { each: words, ...rest } = given;
    if (words === undefined) return [[title, given]];
    return words.map((word) => [
      `${title} (${word})`,
      shape.parse(JSON.parse(JSON.stringify(rest).replaceAll('$each', () => JSON.stringify(word).slice(1, -1)))),
    ]);
  });
}

/** Fits only these words, or what a pattern between slashes says; without any it fits the empty text. */
export function wordsOf(expected = ''): RegExp {
  const [, pattern] = /^\/(.*)\/$/s.exec(expected) ?? [];
  return new RegExp(pattern ?? `^${expected.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`);
}
