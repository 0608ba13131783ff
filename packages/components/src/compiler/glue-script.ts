/** Makes a script of the module that links a compiled component. */

const entry = 'export function instantiate(';
/** Handles that ever were, kept in a set that is read nowhere and never gets smaller. */
const writtenOnly = /^ *table\._createdReps\.add\(rep\);\n/gm;
const utilities = /\nexport const _util = \{\s*\}\s*$/;

/**
 * Turns the module that the compiler writes into a classic script whose value is `instantiate`: a script can be run from
 * memory with the engine's code cache, a module cannot. Throws when the module is not of the form this compiler writes.
 */
export function glueScript(moduleSource: string): string {
  if (!moduleSource.includes(`\n${entry}`) || !utilities.test(moduleSource)) {
    throw new Error('the compiler wrote a module of an unknown form');
  }
  const body = moduleSource.replace(entry, 'function instantiate(').replace(utilities, '\n');
  if (/^export /m.test(body) || body.includes('import.meta')) {
    throw new Error('the compiler wrote a module of an unknown form');
  }
  return `(() => {${body.replaceAll(writtenOnly, '')}\nreturn instantiate;})()`;
}
