import { mostFrameValues } from '@svc/protocol/decode-frame.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { jsonText, type Shown } from './terminal/shown.ts';

/**
 * A frame as one line of `svc watch --json`: `id` as text, absent where the frame has none, then `event` and `data`. The data goes out
 * as it came, so that numbers above 2^53 keep their digits; data that is no JSON, or nests too deep or holds too much to tell, goes out as a JSON string.
 */
export function renderFrameJson({ id, event, data }: ReceivedFrame): Shown {
  const label = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
  return jsonText(`{${label}"event":${JSON.stringify(event)},"data":${jsonOnOneLine(data)}}`);
}

function jsonOnOneLine(data: string): string {
  // In JSON a line feed stands between tokens only: inside a string it is escaped.
  return parseJsonText(data, mostFrameValues).kind === 'json' ? data.replaceAll('\n', ' ') : JSON.stringify(data);
}
