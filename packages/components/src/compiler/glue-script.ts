/** Makes a script of the module that links a compiled component. */

const entry = 'export function instantiate(';
/** Handles that ever were, kept in a set that is read nowhere and never gets smaller. */
const writtenOnly = /^ *table\._createdReps\.add\(rep\);\n/gm;
/** Where bytes, texts and the items of a list are copied out of a component's memory, and where they have arrived. */
const lifts: readonly (readonly [from: RegExp, to: string])[] = [
  [/\b(memory\d+)\.buffer\.slice\(/g, 'lifting.bytes($1.buffer, '],
  [/\bnew TextDecoder\(/g, 'lifting.decoder('],
  [
    /^( *)(?=for \(let i = 0; i < (len\d+); i\+\+\) \{\n *const base = \w+ \+ i \* (\d+);$)/gm,
    '$1lifting.items($2, $3);\n$1',
  ],
  [/^( *)(?=_debugLog\('\[.*\[Instruction::CallInterface\] \(\w+, @ enter\)'\);$)/gm, '$1lifting.arrived();\n$1'],
];
const uncounted = /\.buffer\.slice\(|\bTextDecoder\b|(?<!lifting\.items\(\w+, \d+\);\n *)for \(let i = 0; i < len/;
const utilities = /\nexport const _util = \{\s*\}\s*$/;

/**
 * Turns the module that the compiler writes into a classic script whose value is a function from `Lifting` to `instantiate`: a script can be run
 * from memory with the engine's code cache, a module cannot. Throws when the module is not of the form this compiler writes.
 */
export function glueScript(moduleSource: string): string {
  if (!moduleSource.includes(`\n${entry}`) || !utilities.test(moduleSource)) {
    throw new Error('the compiler wrote a module of an unknown form');
  }
  const plain = moduleSource.replace(entry, 'function instantiate(').replace(utilities, '\n');
  const body = lifts.reduce((text, [from, to]) => text.replaceAll(from, to), plain.replaceAll(writtenOnly, ''));
  if (/^export /m.test(body) || body.includes('import.meta') || uncounted.test(body)) {
    throw new Error('the compiler wrote a module of an unknown form');
  }
  return `((lifting) => {${body}\nreturn instantiate;})`;
}
