/** The command `svc search`: finds artifacts of a registry by words. */

import { Command } from 'commander';

import { isArtifactName, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import { entryOfIndex, localEntries, search, type SearchEntry } from '@svc/artifacts/store/list-stored.ts';
import { registryInUse, type RegistryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../command/stop-signals.ts';
import { placesOf, registryChoice } from '../command/project.ts';

interface SearchOptions {
  readonly manifest: string;
  readonly registry?: string;
  readonly json?: boolean;
}

/** What is shown of a cell that goes through a pipe, where no cell is cut for its width. */
const maxCell = 8192;

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 20 },
  { title: 'VERSION', keeps: 7 },
  { title: 'KIND', keeps: 7 },
  { title: 'PLATFORM', keeps: 8 },
  { title: 'TAGS', keeps: 6 },
  { title: 'DESCRIPTION', keeps: 20 },
];

/** `svc search [words]`: the artifacts of the registry in use that all the words are found in (docs/cli.md "svc search"). */
export function searchCommand(context: CommandContext): Command {
  return new Command('search')
    .description('Search the registry in use, by name, description and tags.')
    .argument('[words...]', 'each has to occur; everything is listed without any')
    .option('--registry <which>', 'the address of a registry, the name of a configured source, or local')
    .option('--manifest <path>', 'the manifest of the project whose store is searched without a registry', './svc.yaml')
    .option('--json', 'write one JSON object per line')
    .action(async (words: string[], options: SearchOptions) => {
      await interruptible(context, async (signal) => {
        const registry = registryInUse(registryChoice(context, { flag: options.registry, signal }));
        const found = search(await entriesOf(registry, options, context), words);
        write(found, { registry: nameOf(registry), isJson: options.json === true }, context);
      });
    });
}

async function entriesOf(
  registry: RegistryInUse,
  options: SearchOptions,
  context: CommandContext,
): Promise<readonly SearchEntry[]> {
  switch (registry.kind) {
    case 'registry':
      return usable((await registry.client.index()).map(entryOfIndex), context);
    case 'local':
      context.stderr.write(
        say`no registry is in use: this searches what is bundled and the stores of project and user\n`,
      );
      return await localEntries(placesOf(context, options.manifest), (fault) => {
        context.stderr.write(render(fault instanceof DiagnosticList ? fault.diagnostics : [fault], context));
      });
    case 'github':
      throw new Diagnostic(
        'E-REG-006',
        `${registry.source.name} is a GitHub repository, which has no index to search`,
        {
          hint: 'look at its releases, or name a registry with --registry',
        },
      );
    case 'oci':
      throw new Diagnostic('E-REG-006', `${registry.source.name} is an OCI registry, which has no index to search`, {
        hint: 'look at its pages, or name a registry with --registry',
      });
  }
}

/** A name stands at the beginning of a row: one that no artifact can have could pass for a line of ours. */
function usable(entries: readonly SearchEntry[], context: CommandContext): readonly SearchEntry[] {
  const named = entries.filter(({ name, version }) => isArtifactName(name) && isExactVersion(version));
  const left = entries.length - named.length;
  if (left > 0) context.stderr.write(say`left out: ${left} with a name or a version that no artifact can have\n`);
  return named;
}

function nameOf(registry: RegistryInUse): string {
  return registry.kind === 'registry' ? registry.client.name : 'local';
}

function write(
  found: readonly SearchEntry[],
  { registry, isJson }: { readonly registry: string; readonly isJson: boolean },
  context: CommandContext,
): void {
  if (isJson) {
    for (const { name, version, kind, platforms, description, tags, state } of found) {
      context.stdout.write(jsonLine({ name, version, kind, platforms, description, tags, state, registry }));
    }
    return;
  }
  if (found.length === 0) {
    context.stderr.write(say`nothing is found\n`);
    return;
  }
  const cells = found.map(({ name, version, kind, platforms, description, tags, state }) => [
    name,
    state === 'active' ? version : `${version} (${state})`,
    kind,
    platforms.length === 0 ? '-' : platforms.join(' '),
    tags.length === 0 ? '-' : tags.join(' '),
    description,
  ]);
  const most = context.stdout.columns ?? maxCell;
  const shown = cells.map((row) => row.map((cell) => inertLine(cell, most)));
  context.stdout.write(renderTable(columns, shown, context.stdout));
}
