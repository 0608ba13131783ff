/** A picture that a session left: only after a click, only of kinds that hold no program, and as data of the page itself. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

const maxBytes = 8 * 1024 * 1024;
const step = 0x8000;

/** The media type of a file by its name; null for one that is no picture here. */
export function imageKind(path: string): string | null {
  const [, ending] = /\.(png|jpe?g|gif|webp)$/i.exec(path) ?? [];
  return ending === undefined ? null : `image/${ending.toLowerCase().replace('jpg', 'jpeg')}`;
}

export function Picture({
  bytes,
  kind,
  name,
}: {
  readonly bytes: Uint8Array;
  readonly kind: string;
  readonly name: string;
}): JSX.Element {
  const [isShown, setShown] = useState(false);
  if (bytes.length > maxBytes)
    return <p class="note">This picture is too large to be shown here. Save it to look at it.</p>;
  if (!isShown) {
    return (
      <button class="button" onClick={() => setShown(true)}>
        Show the picture
      </button>
    );
  }
  return <img class="picture" alt={name.slice(0, 200)} src={`data:${kind};base64,${base64(bytes)}`} />;
}

function base64(bytes: Uint8Array): string {
  let letters = '';
  for (let at = 0; at < bytes.length; at += step) letters += String.fromCharCode(...bytes.subarray(at, at + step));
  return btoa(letters);
}
