import { parseListedPage, type ListedObject } from './s3-answers.ts';
import type { S3Client } from './s3-client.ts';
import { notAnswering } from './s3-faults.ts';

export interface Listed {
  readonly objects: readonly ListedObject[];
  /** When the service answered, by its own clock; null when it did not say. */
  readonly answeredMs: number | null;
}

/** Ten million objects; a service that pages on after that goes in circles. */
const mostPages = 10_000;

/** All objects whose names begin with `prefix`, page by page. */
export async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<Listed, void, undefined> {
  const attempt = `list ${prefix}`;
  let next: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const from: Record<string, string> = next === null ? {} : { 'continuation-token': next };
    const query = { 'list-type': '2', prefix, ...from };
    const { content, headers } = await client.ask({ attempt, method: 'GET', query, expected: [200] });
    const listed = parseListedPage(content);
    if (listed === null) throw notAnswering(attempt, 'the answer is no listing, or only a part of one');
    const answeredMs = Date.parse(headers.date ?? '');
    yield { objects: listed.objects, answeredMs: Number.isNaN(answeredMs) ? null : answeredMs };
    if (listed.next === null) return;
    if (listed.next === next) break;
    next = listed.next;
  }
  throw notAnswering(attempt, 'the pages of the listing do not end');
}
