import type { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { findHandles, hideHandles } from './handle-search.ts';

/** What stands for a peer handle in traces and errors: the first 16 hex characters of its hash (D3 "Peer handle"). */
export function handleId(handle: string): string {
  return sha256Hex(handle).slice(0, 16);
}

/** Each of them is hashed, and a client may send a hundred thousand in one message. */
const mostTold = 1000;
/** In all; no request for a file holds a longer handle than 16 KiB. */
const mostToldLength = 256 * 1024;

/**
 * The text with every peer handle in it replaced by `<handle:<handle_id>>`, also one that is escaped as in a URL, and whatever stands
 * before it: where handles overlap, all of them are told and none of their characters stays (D3 "Events"). Where one text holds more than
 * 1,000 of them, or 256 KiB, the rest are `<handle>`, with what is joined to them by dots and letters.
 */
export function redactHandles(text: string): string {
  // Nearly every line of a trace ends here.
  if (!text.includes('mh1') && !text.includes('%')) return text;
  let redacted = '';
  let shownTo = 0;
  let told = 0;
  let toldLength = 0;
  for (const { start, end } of findHandles(text)) {
    redacted += text.slice(shownTo, start);
    told += 1;
    toldLength += end - start;
    if (told > mostTold || toldLength > mostToldLength) {
      return redacted + hideHandles(text, Math.max(shownTo, start), '<handle>');
    }
    redacted += `<handle:${handleId(unescaped(text.slice(start, end)))}>`;
    shownTo = end;
  }
  return redacted + text.slice(shownTo);
}

/** What makes a text fit to be kept beside a session, or told as an error: no secret is in it and no peer handle (D3 "Events"). */
export function recordRedaction(redactor: Redactor): (text: string) => string {
  return (text) => redactor.redact(redactHandles(text));
}

function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
