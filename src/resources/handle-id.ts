import { hash } from 'node:crypto';

import { findHandles } from './handle-search.ts';

/** What stands for a peer handle in traces and errors: the first 16 hex characters of its hash (D3 "Peer handle"). */
export function handleId(handle: string): string {
  return hash('sha256', handle, 'hex').slice(0, 16);
}

/**
 * The text with every peer handle in it replaced by `<handle:<handle_id>>`, also one that is escaped as in a URL, and whatever stands
 * before it: where handles overlap, all of them are told and none of their characters stays (D3 "Events").
 */
export function redactHandles(text: string): string {
  // Nearly every line of a trace ends here.
  if (!text.includes('mh1') && !text.includes('%')) return text;
  let redacted = '';
  let told = 0;
  for (const { start, end } of findHandles(text)) {
    redacted += `${text.slice(told, start)}<handle:${handleId(unescaped(text.slice(start, end)))}>`;
    told = end;
  }
  return redacted + text.slice(told);
}

function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
