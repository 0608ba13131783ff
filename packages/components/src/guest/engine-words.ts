/** Says in words for an author why the engine of components made of JavaScript broke off. */

/** Where the engine writes, when it gives up, in which of its own sources it did. */
const gaveUp = /^thread '.*?' (?:\(\d+\) )?panicked at crates\/runtime\/src\/(\w+)\.rs:\d+:\d+:$/;
/** A value that crosses the border of the component in either direction. */
const ofValues = 'call';

const thrownShape = /^Failed to call '.*?': Exception\(Exception \{ message: (?:Some\("((?:[^"\\]|\\.)*)"?|None)/s;
const convertedShape = /^expected ([\w ]+): FromJs \{ from: "(\w+)"/;

const ofTool =
  "return what passed(…) or failed(…) of @svc/guest/tool gives: status 'passed' or 'failed', content a text, truncated true or false";
const ofOthers = 'tsc, or npm run check in a folder of svc new, finds such a place';

/**
 * What a guest of `interfaceName` broke off with, from the last lines that it has written: what it threw, or the value that does not fit, and what to do;
 * lines of its own stay before it. Returns null if the engine has not given up, as in components made of other languages.
 */
export function engineWords(lines: string, interfaceName: string): string | null {
  const all = lines.split('\n');
  const at = all.findLastIndex((line) => gaveUp.test(line));
  const [, source] = gaveUp.exec(all[at] ?? '') ?? [];
  if (source === undefined) return null;
  const why = all[at + 1] ?? '';
  const thrown = thrownShape.exec(why);
  const [own, rest] = [all.slice(0, at), source === ofValues ? valueWords(why, interfaceName) : null];
  const words = thrown === null ? rest : thrownWords(thrown[1]);
  return words === null ? null : [words, ...own].join('\n').trimEnd();
}

function thrownWords(message: string | undefined): string {
  const text = message === undefined ? '' : unescaped(message);
  return text === '' ? 'it threw something without a message' : `it threw an error: ${text}`;
}

function valueWords(why: string, interfaceName: string): string {
  const [, wanted = '', found = ''] = convertedShape.exec(why) ?? [];
  const fault = wanted === '' ? why : `expected ${wanted}, found ${found}`;
  const todo = interfaceName.startsWith('svc:tool/') ? ofTool : ofOthers;
  return `it gave a value of another type than its interface has (${fault}): ${todo}`;
}

const short: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0' };

/** A text as the engine quotes it. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u\{([\da-f]{1,6})\}|(.))/gs, (_all, digits: string | undefined, plain = '') =>
    digits === undefined ? (short[plain as string] ?? String(plain)) : String.fromCodePoint(parseInt(digits, 16)),
  );
}
