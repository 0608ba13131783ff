/** Turns the result of an MCP server into text for the model. */

import { isDeepStrictEqual } from 'node:util';

import * as z from 'zod/mini';

import { isJsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { withoutNulls } from './absent-values.ts';

/** The result of `tools/call`, read as leniently as it can be without guessing. */
export const callResult = z.pipe(
  z.transform(readResult),
  z.object({
    content: z._default(z.array(z.unknown()), []),
    structuredContent: z.optional(z.unknown()),
    isError: z._default(z.boolean(), false),
  }),
);

export type CallResult = z.infer<typeof callResult>;

const text = z.object({ type: z.literal('text'), text: z.string() });
const media = z.object({
  type: z.enum(['image', 'audio']),
  data: z.string(),
  mimeType: z._default(z.string(), 'unknown'),
});
const link = z.object({ type: z.literal('resource_link'), uri: z.string(), name: z._default(z.string(), '') });
const contents = { uri: z.string(), mimeType: z.optional(z.string()) };
const embedded = z.object({
  type: z.literal('resource'),
  resource: z.union([z.object({ ...contents, text: z.string() }), z.object({ ...contents, blob: z.string() })]),
});

const block = z.discriminatedUnion('type', [text, media, link, embedded]);

/** How many blocks of one answer are read. A message may hold millions, and reading each takes a hundred times its size. */
const maxBlocks = 1_000;
/** No message has more of them as structured content, so no text with more can be the same. */
const maxValues = 262_144;

/**
 * What the model receives of a result: its texts, a block a paragraph; a block that is no text is mentioned and not shown. Structured
 * content follows unless one of the texts is the same. Beyond 1,000 blocks, how many there are.
 */
export function contentOf({ content, structuredContent }: CallResult): string {
  const blocks = content.slice(0, maxBlocks).map((each) => block.safeParse(readBlock(each)));
  const shown = blocks.map((each) =>
    each.success ? contentOfBlock(each.data) : '[content of a kind that is not known]',
  );
  if (content.length > maxBlocks) shown.push(`[${content.length - maxBlocks} more blocks of content: not shown]`);
  if (structuredContent === undefined) return shown.join('\n');
  const isRepeated = blocks.some(
    (each) => each.success && each.data.type === 'text' && says(each.data.text, structuredContent),
  );
  return (isRepeated ? shown : [...shown, JSON.stringify(structuredContent)]).join('\n');
}

/** Servers of the first version of the protocol have the result in `toolResult`; some write a text or a block where a list of blocks belongs. */
function readResult(given: unknown): unknown {
  if (!isJsonObject(given)) return given;
  const { toolResult, content, structuredContent } = given;
  if (toolResult !== undefined && content === undefined && structuredContent === undefined) {
    return isJsonObject(toolResult) && Array.isArray(toolResult['content'])
      ? withoutNulls(toolResult)
      : { ...given, structuredContent: toolResult };
  }
  return typeof content === 'string' || isJsonObject(content) ? { ...given, content: [content] } : given;
}

function readBlock(given: unknown): unknown {
  if (typeof given === 'string') return { type: 'text', text: given };
  if (!isJsonObject(given)) return given;
  const { resource, ...rest } = withoutNulls(given);
  return isJsonObject(resource) ? { ...rest, resource: withoutNulls(resource) } : rest;
}

function contentOfBlock(shown: z.infer<typeof block>): string {
  switch (shown.type) {
    case 'text':
      return shown.text;
    case 'image':
    case 'audio':
      return `[${shown.type}, ${shown.mimeType}, ${sizeOf(shown.data)} bytes: not shown]`;
    case 'resource_link':
      return `[link to the resource ${shown.uri}${shown.name === '' ? '' : `, ${shown.name}`}]`;
    case 'resource': {
      const { resource } = shown;
      if ('text' in resource) return `[resource ${resource.uri}]\n${resource.text}`;
      return `[resource ${resource.uri}, ${resource.mimeType ?? 'unknown'}, ${sizeOf(resource.blob)} bytes: not shown]`;
    }
  }
}

/** How many bytes a base64 text stands for. */
function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/(?<!=)=+$/, '').length * 3) / 4);
}

function says(shown: string, value: unknown): boolean {
  const json = parseJsonText(shown, maxValues);
  return json.kind === 'json' && isDeepStrictEqual(json.value, value);
}
