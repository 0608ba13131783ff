/** Shows people with a browser what is published: a list of artifacts, the versions of each, and one version (docs/registry.md "Pages"). */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import type { IndexObject } from '@svc/protocol/registry-messages.ts';
import type { PublishedArchive, PublishedVersion } from '@svc/protocol/version-states.ts';
import type { ArtifactIndex } from '../artifact-index.ts';
import type { NamePatterns } from '../name-patterns.ts';
import { pagesPrefix, parsePagePath } from '../paths.ts';
import { parseQuery } from '../publish-query.ts';
import { badInput } from '../refusals.ts';
import { type Content, Element, element, link, theirs } from './markup.ts';
import { pageOf, pageReply, tableOf } from './page-reply.ts';

/** What a list shows of a description. */
const maxInList = 200;
const maxSearch = 100;

/**
 * Answers a `GET` below `/-/`. What `read` does not allow is absent, and its pages are those of an artifact that is not there. A refusal is a page
 * too; what the store is refused with is thrown.
 */
export async function answerPage(
  { path, query }: RequestHead,
  { index, read }: { readonly index: ArtifactIndex; readonly read: NamePatterns },
): Promise<Reply> {
  try {
    const asked = parsePagePath(path);
    if (asked === null) throw notThere();
    if (asked.kind === 'list') return listPage(await index.artifacts(read), query);
    const name = asked.kind === 'artifact' ? asked.name : asked.ref.name;
    const versions = read.allows(name) ? await index.versionsOf(name) : [];
    if (versions.length === 0) throw notThere();
    if (asked.kind === 'artifact') return await artifactPage(name, { versions, index, query });
    const found = versions.find(({ version }) => version === asked.ref.version);
    if (found === undefined) throw notThere();
    parseQuery(query, []);
    const [counted = found] = await index.withSignatures([found]);
    return versionPage(name, counted, index.tagsOf(asked.ref));
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error;
    return pageReply(
      error.status === 404 ? 'Not there' : 'Not understood',
      [element('p', error.message)],
      error.status,
    );
  }
}

function notThere(): HttpRefusal {
  return new HttpRefusal(404, 'not_found', 'There is no such artifact here, or the key is not for it.');
}

function listPage(artifacts: ReadonlyMap<string, readonly IndexObject[]>, query: string): Reply {
  const { page, words } = askedOf(query, ['page', 'q']);
  const lowered = words.map((word) => word.toLowerCase());
  const found = [...artifacts].filter(([, objects]) => objects.some((object) => hasWords(object, lowered)));
  const asked = words.length === 0 ? '' : `q=${words.map(encodeURIComponent).join('+')}&`;
  const part = pageOf(found, page, (number) => `${pagesPrefix}?${asked}page=${number}`);
  if (part === null) throw new HttpRefusal(404, 'not_found', 'There is no such page.');
  const rows = part.shown.map(([name, objects]) => {
    const kinds = [...new Set(objects.map(({ artifact_runtime: kind }) => kind))].join(', ');
    const description = objects.findLast((object) => object.description !== null)?.description ?? '';
    return [link(pathOf(name), name), kinds, `${objects.length}`, theirs(description, maxInList)];
  });
  const count = element('p', found.length === 1 ? 'one artifact' : `${found.length} artifacts`);
  const table = rows.length === 0 ? [] : [tableOf(['Name', 'Kind', 'Versions', 'Description'], rows)];
  return pageReply('Artifacts', [searchForm(words), count, ...table, ...part.nav]);
}

function searchForm(words: readonly string[]): Element {
  const field = new Element(
    'input',
    { type: 'search', name: 'q', maxlength: `${maxSearch}`, value: words.join(' ') },
    [],
  );
  const button = new Element('input', { type: 'submit', value: 'Search' }, []);
  const label = element('label', 'Words ', field, ' ');
  return new Element('form', { method: 'get', action: pagesPrefix }, [label, button]);
}

/** `lowered` are words in lower case. */
function hasWords({ name, description, tags }: IndexObject, lowered: readonly string[]): boolean {
  const text = [name, description ?? '', ...tags].join('\n').toLowerCase();
  return lowered.every((word) => text.includes(word));
}

interface ShownArtifact {
  readonly versions: readonly PublishedVersion[];
  /** Counts the signatures of the versions that the page shows. */
  readonly index: ArtifactIndex;
  readonly query: string;
}

async function artifactPage(name: string, { versions, index, query }: ShownArtifact): Promise<Reply> {
  const { page } = askedOf(query, ['page']);
  const part = pageOf(versions.toSorted(newestFirst), page, (number) => `${pathOf(name)}?page=${number}`);
  if (part === null) throw new HttpRefusal(404, 'not_found', 'There is no such page.');
  const rows = (await index.withSignatures(part.shown)).map((each) => [
    link(pathOf(name, each.version), each.version),
    stateOf(each),
    each.archives.map(platformsOf).join('; '),
    dayOf(publishedAt(each)),
    isSigned(each),
  ]);
  return pageReply(name, [tableOf(['Version', 'State', 'Platforms', 'Published', 'Signed'], rows), ...part.nav]);
}

function versionPage(name: string, version: PublishedVersion, tags: readonly string[]): Reply {
  const ref = `${name}@${version.version}`;
  const facts: (readonly [string, Content])[] = [
    ['Kind', `${version.artifact_runtime}, packaged as ${version.runtime}`],
    ['State', stateOf(version)],
    ...(version.reason === null ? [] : [['Reason', theirs(version.reason)] as const]),
    ...(version.description === null ? [] : [['Description', theirs(version.description)] as const]),
    ...(tags.length === 0 ? [] : [['Tags', theirs(tags.join(' '))] as const]),
    ['To use it', element('code', `svc add ${ref}`)],
    ['What is in it, and who signed it', element('code', `svc info ${ref}`)],
  ];
  const list = element('dl', ...facts.flatMap(([title, content]) => [element('dt', title), element('dd', content)]));
  const rows = version.archives.map((archive) => [
    platformsOf(archive),
    `${archive.size} bytes`,
    element('code', archive.sha256),
    minuteOf(archive.published_at),
    theirs(archive.published_by ?? '-'),
    signaturesOf(archive),
  ]);
  const titles = ['Platforms', 'Size', 'SHA-256', 'Published', 'By the key', 'Signatures'];
  const way = element('p', link(pathOf(name), `all versions of ${name}`));
  return pageReply(ref, [list, element('h2', 'Archives'), tableOf(titles, rows), way]);
}

function pathOf(name: string, version?: string): string {
  const last = version === undefined ? '' : `/${encodeURIComponent(version)}`;
  return `${pagesPrefix}${encodeURIComponent(name)}${last}`;
}

function stateOf({ state }: PublishedVersion): Content {
  return state === 'active' ? state : new Element('bdi', { class: 'state' }, [state]);
}

function platformsOf({ platforms }: PublishedArchive): string {
  return platforms.length === 0 ? 'any' : platforms.map((pair) => pair.join('-')).join(', ');
}

function isSigned({ archives }: PublishedVersion): string {
  if (archives.some(({ signatures }) => (signatures ?? 0) > 0)) return 'yes, not verified here';
  return archives.some(({ signatures }) => signatures === null) ? notKnown : 'no';
}

/** The store of the signatures fails. */
const notKnown = 'not known now';

function signaturesOf({ signatures }: PublishedArchive): string {
  if (signatures === null) return notKnown;
  if (signatures === 0) return 'none';
  return `${signatures}, not verified here`;
}

function publishedAt({ archives }: PublishedVersion): string {
  return archives.map(({ published_at: at }) => at ?? '').toSorted()[0] ?? '';
}

/** `2026-11-26 06:49 UTC`. */
function minuteOf(time: string | null): string {
  return time === null ? '-' : `${time.slice(0, '2026-01-01T00:00'.length).replace('T', ' ')} UTC`;
}

function dayOf(time: string): string {
  return time === '' ? '-' : time.slice(0, '2026-01-01'.length);
}

/** By when each was published first; of those of the same time, or of a time that nobody knows, the later by its text comes first. */
function newestFirst(one: PublishedVersion, other: PublishedVersion): number {
  const [first, second] = [one, other].map((each) => `${publishedAt(each)} ${each.version}`) as [string, string];
  return first < second ? 1 : -1;
}

interface Asked {
  readonly page: number;
  /** As they were typed: in lower case some are longer. */
  readonly words: readonly string[];
}

/** `400` for a parameter that is not known, given twice, or not of its form. A form of a page writes a plus sign for a space. */
function askedOf(query: string, known: readonly string[]): Asked {
  const values = parseQuery(query, known);
  const single = (name: string): string => {
    const [value = '', ...more] = values.get(name) ?? [];
    if (more.length > 0) throw badInput('invalid query', `${name} is given once.`);
    return value;
  };
  const [page, q] = [single('page'), single('q')];
  if (!/^([1-9]\d{0,5})?$/.test(page)) throw badInput('invalid page', 'page is a number from 1 to 999999.');
  if (q.length > maxSearch) throw badInput('invalid words', `At most ${maxSearch} characters are looked for.`);
  const words = q.split(/[\s+]+/).filter((word) => word !== '');
  return { page: page === '' ? 1 : Number(page), words };
}
