const longestBytes = 120;
const longestExtension = 16;

/**
 * `<handle_id>-<basename>`: the name under which a fetched file is kept (D3 "Agent tools"). The basename comes from the payload of the
 * handle, which anybody can write: of it stay letters, digits and `.`, `_`, `-`, no dot in front, and a length that every file system takes.
 */
export function inboxName(handleId: string, payloadPath: unknown): string {
  return `${handleId}-${typeof payloadPath === 'string' ? sanitizedBasename(payloadPath) : unnamed}`;
}

const unnamed = 'file';

function sanitizedBasename(path: string): string {
  const basename = path.slice(path.lastIndexOf('/') + 1).normalize('NFC');
  const plain = basename.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '_').replace(/^[._-]+/, '');
  return shortened(plain) || unnamed;
}

/** Cut before its extension, and between two characters. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= longestBytes) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const kept = Buffer.byteLength(extension) <= longestExtension ? extension : '';
  let stem = '';
  let room = longestBytes - Buffer.byteLength(kept);
  for (const character of name) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    stem += character;
  }
  return `${stem}${kept}`;
}
