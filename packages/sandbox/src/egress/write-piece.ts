import type { Writable } from 'node:stream';

/** Writes and settles once there is room for more; false when nothing more can be written. Never rejects. */
export async function writePiece(stream: Writable, piece: Buffer): Promise<boolean> {
  if (stream.destroyed || stream.writableEnded) return false;
  if (stream.write(piece)) return true;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      stream.off('drain', settle);
      stream.off('close', settle);
      resolve();
    };
    stream.once('drain', settle);
    stream.once('close', settle);
    if (stream.destroyed) settle();
  });
  return !stream.destroyed;
}
