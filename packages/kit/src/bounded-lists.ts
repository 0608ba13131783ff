/** Schemas of lists that untrusted sides send, counted first: a schema keeps an error for each item that does not fit, a hundred times its size. */

import * as z from 'zod/mini';

import { maxList } from '@svc/protocol/json-object.ts';

/** A list of at most 16,384 items; none of a longer one is looked at. */
export function listOf<Item extends z.ZodMiniType>(item: Item): z.ZodMiniType<z.output<Item>[]> {
  return z.pipe(
    z.array(z.unknown()).check(z.maxLength(maxList)),
    z.array(item) as z.ZodMiniType<z.output<Item>[], unknown[]>,
  );
}

/** A list of any length: the first item that does not fit ends the look at it. `item` must give what it takes, unchanged. */
export function listUntilBad<Item extends z.ZodMiniType>(item: Item): z.ZodMiniType<z.output<Item>[]> {
  const list = z.array(z.unknown()).check(({ value, issues }) => {
    for (const [index, each] of value.entries()) {
      const issue = item.safeParse(each).error?.issues[0];
      if (issue === undefined) continue;
      issues.push({ code: 'custom', message: issue.message, path: [index, ...issue.path], input: each });
      return;
    }
  });
  return list as z.ZodMiniType<z.output<Item>[], unknown[]>;
}
