/** Says how words that are no command are given as a task. */

import { redactHandles } from '../../resources/handle-id.ts';
import { exactLine, type Shown } from '../terminal/shown.ts';

/** A line for somebody who wrote a task without quotes, or one of a single word. */
export function asTask(words: readonly string[]): Shown {
  const [word = '', ...more] = words.map(redactHandles);
  return more.length === 0
    ? exactLine`to give it as a task: svc run --task ${word}\n`
    : exactLine`to give it as a task: svc "${[word, ...more].join(' ')}"\n`;
}
