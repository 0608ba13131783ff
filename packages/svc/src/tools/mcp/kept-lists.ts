import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod/mini';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import type { ListedTools } from './listed-tools.ts';

const longestFile = 4 * 1024 * 1024;

const keptShape = z.object({
  tools: z
    .array(z.object({ name: z.string(), description: z.string(), inputSchema: z.record(z.string(), z.unknown()) }))
    .check(z.minLength(1)),
  leftOut: z.array(z.string()),
});

/** What the servers of artifacts listed when they were last asked, by the content of the artifact. Safe to delete. */
export class KeptLists {
  readonly #directory: string;

  /** `cacheDir` is `~/.svc/cache`. */
  constructor(cacheDir: string) {
    this.#directory = join(cacheDir, 'mcp-tools');
  }

  /** Null when nothing is kept, or nothing that can be used. */
  async read(sha256: string): Promise<ListedTools | null> {
    const path = this.#path(sha256);
    try {
      if ((await stat(path)).size > longestFile) return null;
      return keptShape.safeParse(JSON.parse(await readFile(path, 'utf8'))).data ?? null;
    } catch (error) {
      // Never kept, not to be read, or not whole: the server is asked.
      if (error instanceof SyntaxError || errorCode(error) !== undefined) return null;
      throw error;
    }
  }

  /** `E-IO-001` when it cannot be written. */
  async write(sha256: string, { tools, leftOut }: ListedTools): Promise<void> {
    await replaceFile(this.#path(sha256), [Buffer.from(`${JSON.stringify({ tools, leftOut })}\n`)]);
  }

  #path(sha256: string): string {
    return join(this.#directory, `${sha256}.json`);
  }
}
