// Says what the users of a package can write: the declarations of each of its entries, by name, as the build made them.
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

interface Statement {
  readonly name: string;
  readonly isExported: boolean;
  /** Without comments. */
  readonly text: string;
}

/** A name that comes from another file of the package, under its own name there. */
interface Origin {
  readonly file: string;
  readonly name: string;
}

interface Declarations {
  readonly statements: readonly Statement[];
  readonly imports: ReadonlyMap<string, Origin>;
  readonly reexports: ReadonlyMap<string, Origin>;
}

/**
 * The public API of a package by its folder below `packages/`, which has been built: each entry with what it exports, in the order of names, then what of the
 * package those declarations name and nobody can import.
 */
export function publicApi(name: string): string {
  const { exports } = JSON.parse(readFileSync(posix.join(packages, name, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string' ? [] : filesOf(name, entry, target.types),
  );
  return entries.map(({ entry, file }) => renderEntry(entry, new Entry(name, file))).join('\n');
}

/** The files of declarations behind an entry; a star stands for all that there are. */
function filesOf(name: string, entry: string, target: string): readonly { entry: string; file: string }[] {
  if (!target.includes('*')) return [{ entry, file: posix.normalize(target) }];
  const [folder = '', ending = ''] = target.split('*');
  return readdirSync(posix.join(packages, name, folder))
    .filter((file) => file.endsWith(ending))
    .sort()
    .map((file) => ({
      entry: entry.replace('*', file.slice(0, -ending.length)),
      file: posix.normalize(folder + file),
    }));
}

function renderEntry(entry: string, { exported, needed }: Entry): string {
  const head = `# ${entry}\n`;
  const parts = [
    head,
    ...exported,
    ...(needed.length === 0 ? [] : ['## named by these, and exported by nobody\n']),
    ...needed,
  ];
  return parts.join('\n');
}

class Entry {
  /** In the order of names. */
  readonly exported: readonly string[];
  readonly needed: readonly string[];

  constructor(name: string, file: string) {
    const declared = new PackageDeclarations(name);
    const shown = new Set<string>();
    const queue: Origin[] = [];
    const take = (origin: Origin): string[] => {
      const found = declared.find(origin);
      const key = `${found.file} ${found.name}`;
      if (shown.has(key)) return [];
      shown.add(key);
      const texts = found.statements.map(({ text }) => text);
      queue.push(...texts.flatMap((text) => declared.namedIn(text, found.file)));
      return texts.map((text) => `${text}\n`);
    };
    this.exported = declared.exportsOf(file).flatMap(take);
    const needed: { readonly name: string; readonly texts: readonly string[] }[] = [];
    // A list is walked to its end, so what is added here is visited too.
    for (const origin of queue) needed.push({ name: origin.name, texts: take(origin) });
    this.needed = needed.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(({ texts }) => texts);
  }
}

class PackageDeclarations {
  readonly #folder: string;
  readonly #files = new Map<string, Declarations>();

  constructor(name: string) {
    this.#folder = posix.join(packages, name);
  }

  exportsOf(file: string): readonly Origin[] {
    const { statements, reexports } = this.#file(file);
    const own = statements.filter(({ isExported }) => isExported).map(({ name }) => ({ file, name }));
    const all = new Map([...own.map((origin) => [origin.name, origin] as const), ...reexports]);
    return [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, origin]) => origin);
  }

  /** Where a name is declared, through all that hand it on. */
  find({ file, name }: Origin): Origin & { readonly statements: readonly Statement[] } {
    const { statements, imports, reexports } = this.#file(file);
    const own = statements.filter((statement) => statement.name === name);
    if (own.length > 0) return { file, name, statements: own };
    const further = reexports.get(name) ?? imports.get(name);
    if (further === undefined) throw new Error(`${file} declares no ${name}`);
    return this.find(further);
  }

  /** What of the package a declaration names. */
  namedIn(text: string, file: string): readonly Origin[] {
    const { statements, imports } = this.#file(file);
    const known = new Map([...statements.map(({ name }) => [name, { file, name }] as const), ...imports]);
    const words = text.replaceAll(/'[^']*'/g, '').match(/[\w$]+/g) ?? [];
    return [...new Set(words)].flatMap((word) => known.get(word) ?? []);
  }

  #file(file: string): Declarations {
    const known = this.#files.get(file) ?? parse(readFileSync(posix.join(this.#folder, file), 'utf8'), file);
    this.#files.set(file, known);
    return known;
  }
}

/** The compiler begins each statement of a file in the first column, and nothing else but its end. */
function parse(source: string, file: string): Declarations {
  const code = source
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\/\*[^]*?\*\/|\/\/.*$/gm, (found) =>
      found[0] === '/' ? '' : found,
    )
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{2,}/g, '\n')
    .trim();
  const statements: Statement[] = [];
  const [imports, reexports] = [new Map<string, Origin>(), new Map<string, Origin>()];
  for (const text of code.split(/\n(?=(?:export|import|declare|type|interface|abstract)\b)/)) {
    const names = /^(import|export)(?: type)? \{([^}]*)\}(?: from '([^']+)')?;$/.exec(text);
    if (names === null) {
      const [, isExported, name] =
        /^(export )?(?:default )?(?:declare )?(?:abstract )?(?:const|let|function|class|enum|namespace|module|type|interface|global)?\s*([\w$]+)?/.exec(
          text,
        ) ?? [];
      if (!text.startsWith('import ')) {
        const isGlobal = text.startsWith('declare global');
        statements.push({ name: name ?? 'global', isExported: isExported !== undefined || isGlobal, text });
      }
      continue;
    }
    const [, way, list = '', from] = names;
    for (const [, own = '', given = own] of list.matchAll(/(?:type )?\b([\w$]+)(?: as ([\w$]+))?/g)) {
      if (from?.startsWith('.') === false) continue;
      const target = from === undefined ? file : posix.join(posix.dirname(file), from.replace(/\.js$/, '.d.ts'));
      (way === 'import' ? imports : reexports).set(given, { file: target, name: own });
    }
  }
  return { statements, imports, reexports };
}
