import { hash } from 'node:crypto';

const token = /mh1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g;

/** What stands for a peer handle in traces and errors: the first 16 hex characters of its hash (D3 "Peer handle"). */
export function handleId(handle: string): string {
  return hash('sha256', handle, 'hex').slice(0, 16);
}

/** The text with every peer handle in it replaced by `<handle:<handle_id>>` (D3 "Events"). */
export function redactHandles(text: string): string {
  return text.replaceAll(token, (handle) => `<handle:${handleId(handle)}>`);
}
