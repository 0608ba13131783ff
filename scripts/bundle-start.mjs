// Bundles `svc` as one file that every start reads and, for each module that is imported on demand, a file that is read when first needed.
// A module is in exactly one of them, so a class is one class however it was reached: esbuild itself splits only ES modules.
import { join, parse, relative } from 'node:path';

import { build } from 'esbuild';

import { ownPath } from './own-names.mjs';

/**
 * `entry` becomes `<outdir>/<name>.cjs`, modules that it or its parts import on demand `<outdir>/late/`. Late files find the start's own modules
 * with `require('../<name>.cjs').moduleOf(<path>)`, so the caller that runs that file puts it into `require.cache`. Throws when a module is imported both ways.
 * @param {object} request
 * @param {string} request.name
 * @param {string} request.entry
 * @param {import('esbuild').BuildOptions} request.options
 * @param {readonly string[]} request.sharedPackages Packages that are in one file, the start file where it uses them; of every other package each file
 * has what it uses.
 * @param {readonly (readonly string[])[]} request.readTogether Parts that nearly everybody reads at the same moment: what those of a list share with any is in one file.
 * @param {(directory: string) => import('esbuild').Plugin} request.packagesOnDemand For files that have `directory` between them and `outdir`.
 * @returns {Promise<{ files: { path: string, text: string }[], plan: BundlePlan }>}
 */
export async function bundleStart(request) {
  const { entry, sharedPackages, readTogether } = request;
  const { parts, bundleFirst, bundleLate, bundleWhole } = bundlersOf(request);
  const start = await bundleFirst(entry, []);
  const early = sharedPackages.filter((name) => isBundled(start, name));
  const ofStart = [...early, ...ownModules(start)];
  const places = new Map(ofStart.map((path) => [path, inStart(request, path)]));

  const bundleParts = async () =>
    await bundleLate(Object.fromEntries(parts.sorted().map((path) => [lateName(path), path])), [elsewhere(places)]);
  let known = -1;
  let apart;
  while (known < parts.paths.size) {
    known = parts.paths.size;
    apart = await bundleParts();
  }
  const atOnce = [...parts.paths].filter((path) => places.has(path));
  if (atOnce.length > 0) throw new Error(`imported on demand, but the start imports it at once: ${atOnce.join(', ')}`);

  // What several late files use and the start does not: one file for all modules that the same ones use.
  const groups = withoutCircles(groupsByUsers(apart, readTogether), apart.metafile);
  const latePackages = sharedPackages.filter((name) => !early.includes(name) && isBundled(apart, name));
  if (latePackages.length > 0) groups.push(latePackages);
  const placesIn = (group) => new Map([...places].filter(([path]) => !group.includes(path)));
  for (const [index, group] of groups.entries()) for (const path of group) places.set(path, inGroup(index, path));
  const lateFiles = await Promise.all([
    bundleParts(),
    ...groups.map((group, index) =>
      bundleLate({ [`shared-${index}`]: 'modules' }, [exporting(group), elsewhere(placesIn(group))]),
    ),
  ]);
  const asked = new Set(lateFiles.flatMap(modulesElsewhere));
  const shared = ofStart.filter((path) => asked.has(path));
  const whole = await bundleWhole(shared, entry);
  const made = [whole, ...lateFiles].flatMap(({ outputFiles }) => outputFiles);
  const files = reachedDirectly(made, { parts: parts.sorted(), groups });
  return { files, plan: { parts: parts.sorted(), ofStart, groups, shared, places: [...places] } };
}

/**
 * Which module is in which file.
 * @typedef {{ parts: string[], ofStart: string[], groups: string[][], shared: string[], places: [string, string][] }} BundlePlan
 */

/**
 * The files that hold one of the `changed` modules, made anew as a plan has them: it takes for granted that what is imported has not changed.
 * @param {Parameters<typeof bundleStart>[0]} request
 * @param {{ plan: BundlePlan, changed: readonly string[] }} again
 * @returns {Promise<{ path: string, text: string }[]>}
 */
export async function bundleAgain(request, { plan, changed }) {
  const { parts, bundleLate, bundleWhole } = bundlersOf(request);
  for (const part of plan.parts) parts.paths.add(part);
  const places = new Map(plan.places);
  const made = [];
  if (changed.some((path) => plan.ofStart.includes(path))) {
    made.push(bundleWhole(plan.shared, request.entry));
  }
  for (const [index, group] of plan.groups.entries()) {
    if (!changed.some((path) => group.includes(path))) continue;
    const others = new Map([...places].filter(([path]) => !group.includes(path)));
    made.push(bundleLate({ [`shared-${index}`]: 'modules' }, [exporting(group), elsewhere(others)]));
  }
  if (changed.some((path) => !places.has(path))) {
    const entries = Object.fromEntries(plan.parts.map((path) => [lateName(path), path]));
    made.push(bundleLate(entries, [elsewhere(places)]));
  }
  const files = (await Promise.all(made)).flatMap(({ outputFiles }) => outputFiles);
  return reachedDirectly(files, plan);
}

/**
 * Makes one function of a bundle, which bin/svc.cjs calls: wrapping a file of this size in memory would cost each start a copy of it.
 * @param {import('esbuild').BuildOptions} options
 */
export function asFunction({ banner }) {
  return {
    banner: { js: `(function (exports, require, module, __filename, __dirname) {${banner?.js ?? ''}` },
    footer: { js: '})' },
  };
}

/** The two kinds of bundles: the start file, and those that it reads when they are needed. */
function bundlersOf({ name, options, packagesOnDemand }) {
  const parts = new PartsOnDemand();
  const bundle = async ({ plugins, ...request }) =>
    await build({ ...options, ...request, metafile: true, plugins: [...plugins, ...(options.plugins ?? [])] });
  const bundleFirst = async (entryPoint, plugins) =>
    await bundle({
      entryPoints: { [name]: entryPoint },
      plugins: [...plugins, parts.plugin('./late'), packagesOnDemand('.')],
      ...asFunction(options),
    });
  const bundleLate = async (entryPoints, plugins) =>
    await bundle({
      entryPoints,
      outdir: join(options.outdir, 'late'),
      plugins: [...plugins, parts.plugin('.'), packagesOnDemand('..')],
    });
  const bundleWhole = async (shared, entry) => {
    const names = await exportedNames(shared, async (request) => {
      return await bundle({ ...request, plugins: [parts.plugin('./late'), packagesOnDemand('.')] });
    });
    return await bundleFirst('modules', [exportingOnDemand(names, entry)]);
  };
  return { parts, bundleFirst, bundleLate, bundleWhole };
}

/** Own modules that are imported on demand, as they are met: esbuild reads at once, so that is in another order each time. */
class PartsOnDemand {
  paths = new Set();

  /** In the same order for each build. */
  sorted() {
    return [...this.paths].sort((one, other) => (one < other ? -1 : 1));
  }

  /** Makes of each such import one of a file in `directory`. */
  plugin(directory) {
    return {
      name: 'parts-on-demand',
      setup: ({ onResolve }) => {
        onResolve({ filter: /.*/ }, ({ kind, path, resolveDir }) => {
          const part = kind === 'dynamic-import' ? modulePath(path, resolveDir) : path;
          if (kind !== 'dynamic-import' || !isOwn(part)) return undefined;
          this.paths.add(part);
          return { path: `${directory}/${lateName(part)}.cjs`, external: true };
        });
      },
    };
  }
}

/** Whether a path is that of a module of this project: other paths are of packages that are installed. */
function isOwn(path) {
  return path.startsWith('packages/');
}

/** Returns what an import names: the path of an own module from the root of the checkout, or the name of an installed package. */
function modulePath(specifier, directory) {
  return specifier.startsWith('.') ? relative('.', join(directory, specifier)) : (ownPath(specifier) ?? specifier);
}

/** Own modules are known to each other by a short name, since every start reads it: `kit/files/io-fault` for `packages/kit/src/files/io-fault.ts`. */
function keyOf(path) {
  return isOwn(path) ? path.replaceAll(/^packages\/|\.ts$/g, '').replace('/src/', '/') : path;
}

function lateName(path) {
  return keyOf(path).replaceAll('/', '-');
}

/** How late files reach a module of the start file: it makes the object of its exports when the first of them asks. */
function inStart({ name }, path) {
  return `require("../${name}.cjs").moduleOf(${JSON.stringify(keyOf(path))})`;
}

/** How late files reach a module that several of them have and the start has not. */
function inGroup(index, path) {
  return `require("./shared-${index}.cjs")[${JSON.stringify(keyOf(path))}]`;
}

/**
 * Has each import on demand of a module that is in a group read the file of the group, and drops the module's own file, which would only pass that on.
 * @param {{ path: string, text: string }[]} files
 * @param {Pick<BundlePlan, 'parts' | 'groups'>} plan
 */
function reachedDirectly(files, { parts, groups }) {
  const places = new Map();
  for (const [index, group] of groups.entries())
    for (const path of group) if (parts.includes(path)) places.set(`${lateName(path)}.cjs`, [index, keyOf(path)]);
  return files
    .filter(({ path }) => !places.has(parse(path).base))
    .map(({ path, text }) => ({
      path,
      text: text.replaceAll(/"(\.\/(?:late\/)?)([^"/]+\.cjs)"\)/g, (whole, folder, name) => {
        const [index, key] = places.get(name) ?? [];
        return index === undefined ? whole : `"${folder}shared-${index}.cjs")[${JSON.stringify(key)}]`;
      }),
    }));
}

/** @param {ReadonlyMap<string, string>} places What reaches a module, for each that is in another file. */
function elsewhere(places) {
  return {
    name: 'elsewhere',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/, namespace: 'file' }, ({ kind, path, resolveDir }) => {
        const module = modulePath(path, resolveDir);
        if (kind === 'dynamic-import' || !places.has(module)) return undefined;
        return { path: module, namespace: 'elsewhere' };
      });
      onResolve({ filter: /.*/, namespace: 'elsewhere' }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /.*/, namespace: 'elsewhere' }, ({ path }) => ({
        contents: `module.exports = ${places.get(path)};`,
      }));
    },
  };
}

/** The entry of a file that exports whole modules by their paths. */
function exporting(modules) {
  return virtualEntry(modules.map((path) => `export * as ${JSON.stringify(keyOf(path))} from ${specifierOf(path)};`));
}

/**
 * The entry of the start file: it exports what `entry` does, and `moduleOf`, which gives a module by its path. An object for each module would be
 * made at every start, and few are asked for. It holds the values themselves: who asks runs after the start file, and no module changes what it exports.
 * @param {ReadonlyMap<string, readonly string[] | null>} names What each module exports, null for one that only CommonJS knows.
 */
function exportingOnDemand(names, entry) {
  const modules = [...names].map(([path, exported], index) => ({ path, exported, local: (at) => `m${index}_${at}` }));
  const imports = modules.map(({ path, exported, local }) => {
    const bindings = exported?.map((name, at) => `${JSON.stringify(name)} as ${local(at)}`).join();
    return bindings === undefined ? '' : `import { ${bindings} } from ${specifierOf(path)};`;
  });
  const makers = modules.map(({ path, exported, local }) => {
    const made = exported?.map((name, at) => `${JSON.stringify(name)}: ${local(at)}`).join();
    return `${JSON.stringify(keyOf(path))}: () => ${made === undefined ? `require(${specifierOf(path)})` : `({ ${made} })`},`;
  });
  return virtualEntry([
    `export * from ${specifierOf(entry)};`,
    ...imports,
    `const makers = { ${makers.join('')} };`,
    'const modules = {};',
    'export function moduleOf(path) { return (modules[path] ??= makers[path]()); }',
  ]);
}

/** @returns {Promise<Map<string, string[] | null>>} */
async function exportedNames(modules, bundle) {
  const entryPoints = Object.fromEntries(modules.map((path, index) => [`m${index}`, path]));
  const { metafile } = await bundle({ entryPoints, format: 'esm' });
  const outputs = Object.entries(metafile.outputs).map(([file, output]) => [parse(file).name, output.exports]);
  const exported = new Map(outputs);
  return new Map(
    modules.map((path, index) => {
      const names = exported.get(`m${index}`) ?? [];
      // esbuild knows one name alone of CommonJS.
      return [path, isOwn(path) || names.length > 1 ? names : null];
    }),
  );
}

function specifierOf(path) {
  return JSON.stringify(isOwn(path) ? `./${path}` : path);
}

function virtualEntry(lines) {
  return {
    name: 'virtual-entry',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^modules$/ }, ({ kind }) =>
        kind === 'entry-point' ? { path: 'modules', namespace: 'virtual-entry' } : undefined,
      );
      onLoad({ filter: /.*/, namespace: 'virtual-entry' }, () => ({
        contents: lines.join('\n'),
        resolveDir: process.cwd(),
      }));
    },
  };
}

/** Whether something of a package is in one of the outputs. */
function isBundled({ metafile }, name) {
  return Object.keys(metafile.inputs).some((path) => path.includes(`node_modules/${name}/`));
}

/** Own modules that are in the output, not what was only read. */
function ownModules({ metafile }) {
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return [
    ...new Set(used.filter(([path, { bytesInOutput }]) => isOwn(path) && bytesInOutput > 0).map(([path]) => path)),
  ];
}

/**
 * The groups, those in one whose files would require each other in a circle: the first of them to be read would find the others empty. A module
 * imports what is in at least the same outputs, except for what was left out of some of them.
 */
function withoutCircles(groups, { inputs }) {
  const groupOf = new Map(groups.flatMap((group, index) => group.map((path) => [path, index])));
  const needs = groups.map(
    (group) =>
      new Set(
        group
          .flatMap((path) => inputs[path]?.imports ?? [])
          .filter(({ kind }) => kind !== 'dynamic-import')
          .flatMap(({ path }) => groupOf.get(path) ?? []),
      ),
  );
  const reached = needs.map((direct) => {
    const all = new Set(direct);
    // A set is walked in the order of insertion, so what is added here is visited too.
    for (const index of all) for (const next of needs[index]) all.add(next);
    return all;
  });
  const joined = new Map();
  for (const [index, group] of groups.entries()) {
    const circle = [...reached[index]].filter((other) => reached[other].has(index));
    const first = Math.min(index, ...circle);
    joined.set(first, [...(joined.get(first) ?? []), ...group]);
  }
  return [...joined.values()];
}

/** Own modules that are in more than one output, those together that are in the same ones, or in one of the first list of `readTogether` that has one. */
function groupsByUsers({ metafile }, readTogether) {
  const users = new Map();
  for (const [file, { inputs }] of Object.entries(metafile.outputs))
    for (const path of Object.keys(inputs)) if (isOwn(path)) users.set(path, [...(users.get(path) ?? []), file]);
  const groups = new Map();
  const firsts = readTogether.map((list) => list.map(lateName));
  for (const [path, files] of users) {
    const outputs = new Set(files.map((file) => parse(file).name));
    const key = firsts.find((names) => names.some((name) => outputs.has(name)))?.join() ?? files.join();
    if (files.length > 1) groups.set(key, [...(groups.get(key) ?? []), path]);
  }
  // Their files are named by their place here.
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, paths]) => paths.sort());
}

function modulesElsewhere({ metafile }) {
  return Object.keys(metafile.inputs)
    .filter((path) => path.startsWith('elsewhere:'))
    .map((path) => path.slice('elsewhere:'.length));
}
