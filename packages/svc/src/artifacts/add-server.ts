/** Writes an MCP server into a project, as an artifact whose manifest has its command. */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { runtimeTools } from '@svc/artifacts/manifest/names.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { serverManifest, serverName, serverWords } from '../run/first-minute/named-servers.ts';
import { addEntry } from './project-change.ts';
import type { OpenedProject } from './opened-project.ts';

const version = '1.0.0';

/** `svc add mcp:<command>`: `mcp/<name>/svc.yaml`, and its entry. `E-ART-008` for what is no command, `E-IO-001` for a folder that is there. */
export async function addServer(command: string, opened: OpenedProject): Promise<void> {
  const words = serverWords(command);
  if (typeof words === 'string') {
    throw new Diagnostic('E-ART-008', `the command of the MCP server cannot be used: ${words}`, {
      hint: 'write it as on a command line, such as svc add "mcp:npx -y <package> ."',
    });
  }
  const { listed, loaded, options, request } = opened;
  const commands = loaded.manifest.capabilities.shell?.allow ?? [];
  const name = serverName(words, new Set([...listed.map((entry) => entry.name), ...commands, ...runtimeTools]));
  const folder = join(request.manifestDir, 'mcp', name);
  if (existsSync(folder)) {
    throw new Diagnostic('E-IO-001', `${folder} is there already, and nothing was written`, {
      hint: `list it with source: ./mcp/${name}, or move it away`,
    });
  }
  const [program] = words;
  const row = { name, version, source: `./mcp/${name}`, runs: [program] };
  if (options.dryRun === true) return await addEntry(row, opened);
  const made = makeFolder(folder);
  try {
    write(join(folder, 'svc.yaml'), serverManifest(name, words));
    await addEntry(row, opened);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
}

/** Returns the uppermost folder that was made. Leaves nothing where it fails. */
function makeFolder(folder: string): string {
  const above = dirname(folder);
  const made = existsSync(above) ? folder : above;
  try {
    makeDirectories(above);
    mkdirSync(folder);
    return made;
  } catch (error) {
    if (made === above) rmSync(above, { recursive: true, force: true });
    throw ioFault(error, `cannot make ${folder}`);
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw ioFault(error, `cannot write ${file}`);
  }
}
