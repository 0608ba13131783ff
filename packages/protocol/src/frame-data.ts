import * as z from 'zod/mini';

import { parseJsonText } from './json-text.ts';

// A key that is missing or of the wrong type is taken for empty where the rest still says something, and unknown keys are passed over
// (D1 "Client tolerance").
const anyText = z.catch(z.string(), '');

export const acknowledgementData = z.object({ conversation_mode: z.string() });
export const statusData = z.object({ id: anyText, status: z.object({ state: z.string(), message: anyText }) });
export const artifactData = z.object({
  artifact: z.object({
    tool_name: anyText,
    content: z.string(),
    is_error: z.catch(z.boolean(), false),
    fence_source: z.catch(z.nullable(z.string()), null),
    exit_code: z.catch(z.nullable(z.int()), null),
  }),
});
export const textData = z.object({ id: anyText, text: anyText, final: z.catch(z.boolean(), false) });
const errorData = z.object({ error: z.string() });
const gapData = z.object({ first_available_id: z.number() });
const exactGapData = z.object({ first_available_id: z.string().check(z.regex(/^\d{1,20}$/)) });

/** What `shape` sees in the data of a frame; null when it is no such JSON. */
export function parseFrameData<Shape extends z.ZodMiniType>(data: string, shape: Shape): z.output<Shape> | null {
  const parsed = parseJsonText(data);
  return (parsed.kind === 'json' ? shape.safeParse(parsed.value).data : undefined) ?? null;
}

/** `first_available_id` of a `gap` frame with every digit; null when it is no whole number (D1 "Frame types", `gap`). */
export function firstAvailableId(data: string): string | null {
  if (parseFrameData(data, gapData) === null) return null;
  return parseFrameData(quoteNumbers(data), exactGapData)?.first_available_id ?? null;
}

const errorStart = '{"error":"';
const errorEnd = '"}';

/** What an `error` frame says; its data may be no JSON, as its text is inserted without escaping (D1 "Frame types", `error`). */
export function errorText(data: string): string {
  const parsed = parseFrameData(data, errorData);
  if (parsed !== null) return parsed.error;
  const isWhole = data.startsWith(errorStart) && data.endsWith(errorEnd);
  return isWhole ? data.slice(errorStart.length, -errorEnd.length) : data;
}

/** JSON with each number as a string: what is parsed into a number loses digits above 2^53. */
function quoteNumbers(json: string): string {
  let isInString = false;
  return json.replaceAll(/\\.|"|[-\d][\d.eE+-]*/g, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' || token.startsWith('\\') ? token : `"${token}"`;
  });
}
