/** Finds the MCP server on the web that a person names, and the folder whose manifest lists it. */

import { isRemoteAddress, pastedAddress, remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { entriesIfReadable, placesOf } from '../../command/project.ts';

interface NamedServer {
  readonly server: URL;
  /** The folder of the manifest; null where that does not list the server. */
  readonly folder: string | null;
}

/** By its address, as people paste it, or by its artifact in the manifest. `E-ART-008` for what names none. */
export function namedServer(what: string, manifest: string, context: CommandContext): NamedServer {
  const entries = entriesIfReadable(context, manifest);
  const isAddress = isRemoteAddress(what);
  const address = pastedAddress(what);
  const fault = isAddress ? endpointFault(address) : undefined;
  if (fault !== undefined) throw noServer(`the address ${fault}`);
  const from = isAddress ? `mcp+${address}` : entries.find(({ name }) => name === what)?.from;
  const server = remoteServerOf(from);
  if (server === null) throw noServer(`${quoted(what)} is neither an address nor an artifact of ${manifest} with one`);
  const isListed = entries.some((entry) => remoteServerOf(entry.from)?.href === server.href);
  return { server, folder: isListed ? placesOf(context, manifest).manifestDir : null };
}

function noServer(message: string): Diagnostic {
  return new Diagnostic('E-ART-008', message, {
    hint: 'give the address that the maker of the server prints for clients, https://<host>/<path>',
  });
}
