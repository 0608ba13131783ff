// Makes the builtin modules of a bundle load when they are first used, and some packages: a start needs few of them, and each costs it up to 2 ms.

/** The modules that are cheap, loaded by Node itself, or used by every start anyway. */
const early = new Set(['node:fs', 'node:path', 'node:url', 'node:events', 'node:util', 'node:buffer', 'node:process']);

/** Packages of CommonJS that look at the process when they are loaded: picocolors opens standard output for it. */
const latePackages = ['picocolors'];

const builtin = /require\("(node:[\w/]+)"\)/.source;
const ofPackage = new RegExp(`__toESM\\(require_(${latePackages.join('|')})\\(\\),1\\)`).source;

/**
 * In what esbuild writes, an imported builtin is `var import_x = require("node:x")` and each use of it `import_x.y`. The uses become
 * calls of a function that requires it, and so do those of late packages. Throws when a name is used in any other way.
 */
export function withLateBuiltins(code) {
  const declaration = new RegExp(`\\b(import_\\w+)=(?:${builtin}|${ofPackage})`, 'g');
  const late = new Map();
  for (const [, name, module, packageName] of code.matchAll(declaration)) {
    if (!early.has(module)) late.set(name, module ?? packageName);
  }
  if (late.size === 0) return code;
  const names = new RegExp(`\\b(${[...late.keys()].join('|')})\\b(?:=(${builtin}|${ofPackage})|(\\.))?`, 'g');
  const declared = new Set();
  return code.replaceAll(names, (all, name, made, _builtin, _package, dot, at) => {
    if (dot !== undefined) return `(${name}()).`;
    if (made !== undefined) return `${name}=lateModule(()=>${made})`;
    // A module that is itself loaded late has its variables declared apart from what they are.
    const isDeclaration = /(?:var |,)$/.test(code.slice(at - 4, at)) && /[,;]/.test(code.charAt(at + all.length));
    if (!isDeclaration || declared.has(name)) {
      throw new Error(`${name} is used as a whole: list ${late.get(name)} as early`);
    }
    declared.add(name);
    return all;
  });
}

/** What the bundle needs in front of it. */
export const lateBuiltinPrologue = 'const lateModule=(load)=>{let loaded;return()=>(loaded??=load())};';

/** Commander requires it for subcommands that are programs of their own, which `svc` has none of. */
export const lateChildProcess = {
  name: 'late-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/commander/') ? { path: 'child_process', namespace: 'late' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'late' }, () => ({
      contents: `exports.spawn = (...args) => require('node:child_process').spawn(...args);`,
    }));
  },
};
