/** Hands bytes to the browser to be saved: as bytes of no kind that it would open. */

/** The name is cut to what file systems take; separators in it are replaced. */
export function saveFile(name: string, bytes: Uint8Array): void {
  const blob = new Blob([new Uint8Array(bytes)], { type: 'application/octet-stream' });
  const address = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').slice(0, 120);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
