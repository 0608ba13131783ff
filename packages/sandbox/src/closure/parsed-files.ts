import { type ProgramFormat, parseProgram } from './elf.ts';
import type { FileHost } from './file-host.ts';
import { type LoaderCache, loaderCachePath, readLoaderCache } from './ld-cache.ts';

const maxKept = 8192;
const ofHosts = new WeakMap<FileHost, ParsedFiles>();

/** What files of one host were when they were last read. A file that changed has another identity and is read again. */
export class ParsedFiles {
  readonly #host: FileHost;
  readonly #formats = new Map<string, ProgramFormat>();
  #loaderCache: { readonly identity: string; readonly cache: LoaderCache } | null = null;

  constructor(host: FileHost) {
    this.#host = host;
  }

  /** Null when there is no regular file that can be opened. */
  format(path: string): ProgramFormat | null {
    const file = this.#host.open(path);
    if (file === null) return null;
    try {
      const known = this.#formats.get(file.identity);
      if (known !== undefined) return known;
      const format = parseProgram(file);
      if (this.#formats.size >= maxKept) this.#formats.clear();
      this.#formats.set(file.identity, format);
      return format;
    } finally {
      file.close();
    }
  }

  loaderCache(): LoaderCache {
    const file = this.#host.open(loaderCachePath);
    if (file === null) return new Map();
    try {
      if (this.#loaderCache?.identity !== file.identity) {
        this.#loaderCache = { identity: file.identity, cache: readLoaderCache(file) };
      }
      return this.#loaderCache.cache;
    } finally {
      file.close();
    }
  }
}

export function parsedFilesOf(host: FileHost): ParsedFiles {
  const known = ofHosts.get(host);
  if (known !== undefined) return known;
  const parsed = new ParsedFiles(host);
  ofHosts.set(host, parsed);
  return parsed;
}
