import { Readable } from 'node:stream';

/**
 * The same bytes, kept until somebody reads them. Of a child that has exited, Node throws away what nobody has begun to read, and a
 * launch may settle after a short program is over. An output that is closed by force just ends.
 */
export function keptOutput(output: Readable): Readable {
  const kept = new Readable({
    read: () => output.resume(),
    destroy: (error, done) => {
      output.destroy();
      done(error);
    },
  });
  output.on('data', (chunk: Buffer) => {
    if (!kept.push(chunk)) output.pause();
  });
  output.once('close', () => kept.push(null));
  return kept;
}
