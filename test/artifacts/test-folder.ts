import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder of its own under the system's temporary one. */
export class TestFolder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'svc-artifacts-'));

  at(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), content);
  }

  read(name: string): string {
    return readFileSync(this.at(name), 'utf8');
  }

  has(name: string): boolean {
    return existsSync(this.at(name));
  }

  /** The names directly inside, sorted. */
  names(name = '.'): readonly string[] {
    return readdirSync(this.at(name)).sort();
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
