import { PassThrough, type Readable } from 'node:stream';

/**
 * The same bytes, kept until somebody reads them. Of a child that has exited, Node throws away what nobody has begun to read, and a
 * launch may settle after a short program is over. An output that is closed by force just ends.
 */
export function keptOutput(output: Readable): Readable {
  const kept = new PassThrough();
  output.pipe(kept);
  output.once('close', () => kept.end());
  kept.once('close', () => output.destroy());
  return kept;
}
