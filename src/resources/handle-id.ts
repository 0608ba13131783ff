import { hash } from 'node:crypto';

// Every character may be escaped as in a URL. What follows a MAC's 43 characters is not part of it. A dot, plain or escaped, is no
// character of a part, so no text makes the search slow.
const dot = String.raw`(?:\.|%2[eE])`;
const character = '(?:[A-Za-z0-9_-]|%(?!2[eE])[0-9A-Fa-f]{2})';
const token = new RegExp(`(?:m|%6[dD])(?:h|%68)(?:1|%31)${dot}${character}+${dot}${character}{1,43}`, 'g');

/** What stands for a peer handle in traces and errors: the first 16 hex characters of its hash (D3 "Peer handle"). */
export function handleId(handle: string): string {
  return hash('sha256', handle, 'hex').slice(0, 16);
}

/** The text with every peer handle in it replaced by `<handle:<handle_id>>`, also one that is escaped as in a URL (D3 "Events"). */
export function redactHandles(text: string): string {
  // Nearly every line of a trace ends here.
  if (!text.includes('mh1') && !text.includes('%')) return text;
  return text.replaceAll(token, (handle) => `<handle:${handleId(unescaped(handle))}>`);
}

function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
