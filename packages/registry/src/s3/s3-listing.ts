/** Lists the objects of an S3 bucket. */

import { sha256Hex } from '@svc/kit/sha256.ts';
import { notAnswering } from './s3-answers.ts';
import type { S3Client } from './s3-client.ts';

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** One page of a listing (`ListObjectsV2`). */
interface ListedPage {
  readonly objects: readonly ListedObject[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

export interface ListedObject {
  readonly name: string;
  /** When it was changed, by the clock of the service. */
  readonly changedMs: number;
}

/** The text of the first element of this name without children; null when there is no such element. */
function elementText(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  if (text === undefined) return null;
  return text.replaceAll(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(\w{2,4}));/gi, (whole, decimal, hex, named) => {
    if (typeof named === 'string') return entities[named] ?? whole;
    return String.fromCodePoint(typeof decimal === 'string' ? Number(decimal) : Number.parseInt(String(hex), 16));
  });
}

/** Returns null for a text that is no page, or only the beginning of one. */
export function parseListedPage(xml: string): ListedPage | null {
  if (!/<ListBucketResult[\s>]/.test(xml) || !/<\/ListBucketResult>\s*$/.test(xml)) return null;
  const objects: ListedObject[] = [];
  // Split, as a regular expression would look for each end through all the rest of a page that has none.
  for (const piece of xml.split('<Contents>').slice(1)) {
    const [entry = '', rest] = piece.split('</Contents>', 2);
    if (rest === undefined) return null;
    const name = elementText(entry, 'Key');
    const changedMs = Date.parse(elementText(entry, 'LastModified') ?? '');
    if (name === null || Number.isNaN(changedMs)) return null;
    objects.push({ name, changedMs });
  }
  if (elementText(xml, 'IsTruncated') !== 'true') return { objects, next: null };
  const next = elementText(xml, 'NextContinuationToken');
  return next === null || next === '' ? null : { objects, next };
}

export interface Listed {
  readonly objects: readonly ListedObject[];
  /** When the service answered, by its own clock; null when it did not say. */
  readonly answeredMs: number | null;
}

/** Ten million objects; a service that pages on after that goes in circles. */
const maxPages = 10_000;

/** All objects whose names begin with `prefix`, page by page. */
export async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<Listed, void, undefined> {
  const attempt = `list ${prefix}`;
  let next: string | null = null;
  const asked = new Set<string>();
  while (asked.size < maxPages) {
    const from: Record<string, string> = next === null ? {} : { 'continuation-token': next };
    const query = { 'list-type': '2', prefix, ...from };
    const { content, headers } = await client.ask({ attempt, method: 'GET', query, expected: [200] });
    const listed = parseListedPage(content);
    if (listed === null) throw notAnswering(attempt, 'the answer is not a listing, or only a part of one');
    const answeredMs = Date.parse(headers.date ?? '');
    yield { objects: listed.objects, answeredMs: Number.isNaN(answeredMs) ? null : answeredMs };
    if (listed.next === null) return;
    next = listed.next;
    const token = sha256Hex(next);
    if (asked.has(token)) break;
    asked.add(token);
  }
  throw notAnswering(attempt, 'the pages of the listing do not end');
}
