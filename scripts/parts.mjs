// @ts-check
// Knows the parts of svc that a build can leave out, and puts a refusal in the place of their code.
import { dirname } from 'node:path';

/** What each part consists of. Nothing outside imports a value of it but on demand. */
export const parts = {
  openai: ['packages/doors/src/openai/'],
  pages: ['packages/registry/src/pages/'],
  programs: ['packages/session/src/model/programs/'],
  push: ['packages/doors/src/a2a/push/'],
  s3: ['packages/registry/src/s3/'],
  telemetry: [
    'packages/telemetry/src/',
    'packages/capsule/src/run/telemetry/',
    'packages/svc/src/look-back/trace/send-trace.ts',
  ],
};

/**
 * The parts that `--without a,b` names. A name that is not one of them ends the build.
 * @param {readonly string[]} args
 * @returns {string[]}
 */
export function partsLeftOut(args) {
  const at = args.findIndex((each) => each === '--without' || each.startsWith('--without='));
  if (at === -1) return [];
  const named = args[at] === '--without' ? args[at + 1] : args[at]?.slice('--without='.length);
  const names = (named ?? '').split(',');
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown === undefined) return names;
  const known = Object.keys(parts).join(', ');
  process.stderr.write(`--without takes ${known}, with commas between them; ${JSON.stringify(unknown)} is not there\n`);
  process.exit(1);
}

/**
 * Each module of these parts throws when it is loaded, and exports nothing: a build fails where something outside imports a value of it at once.
 * @param {readonly string[]} names
 * @returns {import('esbuild').Plugin[]}
 */
export function leavingOut(names) {
  return names.map((name) => ({
    name: `without-${name}`,
    setup(build) {
      const paths = parts[/** @type {keyof typeof parts} */ (name)];
      build.onLoad({ filter: new RegExp(`/(?:${paths.join('|').replaceAll('.', '\\.')})`) }, ({ path }) => ({
        contents: `import { leftOutFault } from '@svc/kit/diagnostics/left-out.ts'; throw leftOutFault('${name}');`,
        resolveDir: dirname(path),
        loader: 'ts',
      }));
    },
  }));
}
