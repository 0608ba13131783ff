/** The command `svc publish`: sends an archive to a registry. */

import { tmpdir } from 'node:os';
import { basename, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';

import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { tap } from '@svc/artifacts/store/archive-writer.ts';
import { buildArchive } from '@svc/artifacts/store/build-archive.ts';
import { isDirectory } from '@svc/artifacts/store/install.ts';
import { platformShape, spell } from '@svc/artifacts/store/artifact-ref.ts';
import {
  inspectPublishable,
  type Publishable,
  publishLocally,
  readComponent,
} from '@svc/artifacts/store/publishable.ts';
import type { PlainComponent } from '@svc/artifacts/store/sources/oci/documents.ts';
import type { RegistrySource } from '@svc/artifacts/store/sources/registry-source.ts';
import { type RegistryInUse, registryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import {
  boundedSignatures,
  isOfOtherBytes,
  signaturesBeside,
  signaturesSuffix,
} from '@svc/artifacts/store/trust/signature-bundle.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { encodeSigner, type Signer } from '@svc/artifacts/store/trust/signer.ts';
import { storeRoot } from '@svc/artifacts/store/store-layout.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import type { OutgoingBody } from '@svc/kit/net/request-run.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../command/stop-signals.ts';
import { inMebibytes, ProgressLine } from '../shown/transfer-view.ts';
import { registryChoice } from '../command/project.ts';
import { createFolderCheck } from './component-checks.ts';
import { plainComponent } from './plain-component.ts';
import type { MadeSignature } from './signing/make-signature.ts';

interface PublishOptions {
  readonly registry?: string;
  readonly platform?: readonly string[];
  readonly sign?: boolean;
  readonly key?: string;
  readonly alsoWasm?: boolean;
  readonly json?: boolean;
}

/** `svc publish [path]`: an archive, or what a folder is packed into, to the registry in use (docs/cli.md "svc publish", D3 "Registry" publish). */
export function publishCommand(context: CommandContext): Command {
  return new Command('publish')
    .description('Publish an archive, or the folder of an artifact or a capsule, to a registry.')
    .argument('[path]', 'an archive, or a folder with svc.yaml, which is packed', '.')
    .option(
      '--registry <which>',
      'the address of a registry, oci:// included, the name of a configured source, or local',
    )
    .option('--platform <os-arch>', 'a platform that the archive is for; can be given several times', collect)
    .option('--sign', 'sign it first: with --key, else as the CI job that this is')
    .option('--key <file>', 'with --sign: a private key of svc key new')
    .option('--also-wasm', 'to an OCI registry: its component alone as well, for clients of other projects')
    .option('--json', 'write one JSON object')
    .action(async (path: string, options: PublishOptions, command: Command) => {
      if (options.key !== undefined && options.sign !== true) command.error('error: --key is for --sign');
      await interruptible(context, async (signal) => {
        await withArchive(resolve(context.cwd, path), context, async (archive) => {
          const publishable = await inspectPublishable(archive, [...new Set(options.platform ?? [])].sort());
          const registry = registryInUse(registryChoice(context, { flag: options.registry, signal }));
          const component = options.alsoWasm === true ? await componentFor(publishable, registry) : null;
          // Each signature of a key is another one, and a registry keeps a few of them.
          if (options.sign === true && registry.kind === 'registry') await registry.client.refusePublished(publishable);
          const made = await signed(publishable, { options, context, signal });
          // The signatures of svc sign are beside it. The signature that was asked for goes first, so that it is not one too many.
          const all = [...(made === null ? [] : [made.bundle]), ...besideIt(publishable, made, context)];
          const signatures = boundedSignatures(all);
          const to = await publish(
            { ...publishable, signatures, component, vouchFor: made?.vouchFor },
            registry,
            context,
          );
          write(publishable, { registry: to, signer: made?.signer ?? null }, { options, context });
        });
      });
    });
}

function collect(platform: string, before: readonly string[] = []): readonly string[] {
  if (!platformShape.test(platform)) throw new InvalidArgumentError('it is written <os>-<arch>, such as linux-x86_64');
  return [...before, platform];
}

/** A folder is packed anew each time, out of the way: what is published is what is there now. */
async function withArchive(
  path: string,
  context: CommandContext,
  use: (archive: string) => Promise<void>,
): Promise<void> {
  if (!(await isDirectory(path))) {
    await use(path);
    return;
  }
  const outDirectory = makeScratch(tmpdir(), 'svc-publish-');
  try {
    const env = loadEnvironment({ directory: path, process: context.env, useFile: true });
    const checkArtifact = createFolderCheck(context.home);
    const built = await buildArchive({ directory: path, outDirectory, env, checkArtifact });
    if (built.warnings.length > 0) context.stderr.write(render(built.warnings, context));
    await use(built.path);
  } finally {
    removeScratch(outDirectory);
  }
}

interface PublishRun {
  readonly options: PublishOptions;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

/** The signature that was asked for; null when none was. */
async function signed(archive: Publishable, { options, context, signal }: PublishRun): Promise<MadeSignature | null> {
  if (options.sign !== true) return null;
  const { makeSignature } = await import('./signing/make-signature.ts');
  const { path, sha256 } = archive;
  return await makeSignature({ path, fileName: basename(path), sha256, keyFile: options.key, signal }, context);
}

/** The signatures beside an archive, except those of bytes that were there before it (`W-REG-009`). */
function besideIt(archive: Publishable, made: MadeSignature | null, context: CommandContext): readonly string[] {
  const { path, sha256 } = archive;
  const beside = signaturesBeside(path);
  const own = beside.filter((bundle) => !isOfOtherBytes(bundle, sha256));
  if (own.length === beside.length) return beside;
  const count = beside.length - own.length;
  const [which, are] = count === 1 ? ['1 signature', 'is'] : [`${count} signatures`, 'are'];
  const unsigned = own.length === 0 && made === null ? `; ${spell(archive)} has no other` : '';
  const where = `${path}${signaturesSuffix}`;
  const message = `${which} in ${where} ${are} of other bytes than the archive has now, and ${are} left out${unsigned}`;
  const hint = `svc sign ${path} signs it as it is now, and takes out what is of other bytes`;
  context.stderr.write(render([new Diagnostic('W-REG-009', message, { hint })], context));
  return own;
}

/** The component alone. Throws `E-REG-006` for a registry that other projects do not read, `E-ART-004` without a component. */
async function componentFor(archive: Publishable, registry: RegistryInUse): Promise<PlainComponent> {
  if (registry.kind !== 'oci') {
    throw new Diagnostic('E-REG-006', '--also-wasm is for OCI registries, and the registry in use is not one', {
      hint: 'name one with --registry oci://<host>/<path>, or leave --also-wasm out',
    });
  }
  const component = plainComponent(await readComponent(archive));
  if (component !== null) return component;
  throw new Diagnostic('E-ART-004', `component.wasm of ${spell(archive)} is no WebAssembly component`);
}

interface PublishedArchive extends Publishable {
  readonly signatures: readonly string[];
  readonly component: PlainComponent | null;
  readonly vouchFor: MadeSignature['vouchFor'] | undefined;
}

/** The address of the registry, or `local`. */
async function publish(archive: PublishedArchive, registry: RegistryInUse, context: CommandContext): Promise<string> {
  switch (registry.kind) {
    case 'local':
      await publishLocally(archive, storeRoot(context.home), archive.signatures);
      return 'local';
    case 'registry': {
      let unsure: Diagnostic | null = null;
      await shownPublish(archive, registry.client.name, context, async (body) => {
        const { client } = registry;
        // First, so that there is no moment at which it is published and not signed.
        for (const bundle of archive.signatures) await client.sign(archive.sha256, bundle, 'nothing was published');
        await client.publish({ ...archive, body });
        unsure = await bringAgain(archive, client);
      });
      if (unsure !== null) context.stderr.write(render([unsure], context));
      return registry.client.name;
    }
    case 'oci':
      await shownPublish(archive, registry.source.name, context, async (body) => {
        const { component, kind: runtime, ...published } = archive;
        await registry.source.publish({ ...published, runtime, body, ...(component === null ? {} : { component }) });
      });
      return registry.source.name;
    case 'github':
      throw new Diagnostic(
        'E-REG-006',
        `${registry.source.name} is a GitHub repository, which svc publishes nothing to`,
        {
          hint: 'add the archive that svc build makes to a release, with the file that svc sign writes, or name a registry with --registry',
        },
      );
  }
}

const maxRounds = 3;
/** Some stores keep times in whole seconds, so that two uploads within one second look equally old. */
const nextSecondMs = 1100;

/**
 * Until an archive is published, other publishers can displace its signatures (docs/adr/registry.md "Who brings signatures"): they are brought once more, as
 * the newest, until the registry has them all. A diagnostic `W-REG-010` where that fails; null where it is well.
 */
async function bringAgain(archive: PublishedArchive, client: RegistrySource): Promise<Diagnostic | null> {
  const { sha256, signatures } = archive;
  let missing = signatures;
  try {
    for (let round = 1; missing.length > 0 && round <= maxRounds; round += 1) {
      if (round > 1) await pause(nextSecondMs);
      for (const bundle of missing) await client.sign(sha256, bundle, 'the archive is published');
      const kept = await keptBy(client, archive);
      missing = signatures.filter((bundle) => !kept.includes(bundle));
    }
  } catch (error) {
    if (error instanceof Diagnostic)
      return unsureSignatures(archive, `it did not take them once more: ${error.message}`);
    throw error;
  }
  if (missing.length === 0) return null;
  return unsureSignatures(archive, `it does not have ${missing.length} of ${signatures.length}`);
}

/** A key may publish and not read: then what was taken counts as kept. */
async function keptBy(client: RegistrySource, { sha256, signatures }: PublishedArchive): Promise<readonly string[]> {
  try {
    return boundedSignatures(await client.signatures({ sha256 }));
  } catch (error) {
    if (error instanceof Diagnostic) return signatures;
    throw error;
  }
}

function unsureSignatures(archive: PublishedArchive, reason: string): Diagnostic {
  const message = `${spell(archive)} is published, and the registry may not keep all of its signatures: ${reason}`;
  return new Diagnostic('W-REG-010', message, {
    hint: `svc info ${spell(archive)} shows those that it has; where one is missing, svc sign the archive and svc publish it once more: its signatures are taken, though it is there already`,
  });
}

async function shownPublish(
  archive: Publishable,
  to: string,
  context: CommandContext,
  send: (body: OutgoingBody) => Promise<void>,
): Promise<void> {
  const line = new ProgressLine(context, context.stderr.isTerminal);
  line.say(`publishing to ${to}`);
  try {
    await send({ bytes: archive.bytes, chunks: () => shownChunks(archive, line) });
  } finally {
    line.show('');
  }
}

/** The bytes of an archive, and on the line how many of them have gone. */
function shownChunks({ name, version, path, bytes }: Publishable, line: ProgressLine): Chunks {
  let sent = 0;
  return tap(chunksOfFile(path), (chunk) => {
    sent += chunk.length;
    line.show(`publishing ${name}@${version}: ${inMebibytes(sent, bytes)}`);
  });
}

function write(
  { name, version, platforms, sha256 }: Publishable,
  { registry, signer }: { readonly registry: string; readonly signer: Signer | null },
  { options, context }: Pick<PublishRun, 'options' | 'context'>,
): void {
  if (options.json === true) {
    const by = signer === null ? null : encodeSigner(signer);
    context.stdout.write(jsonLine({ name, version, platforms, sha256, registry, signed_by: by }));
  } else {
    context.stdout.write(exactLine`${name}@${version} ${sha256}\n`);
    if (signer !== null) context.stderr.write(say`signed by ${renderSigner(signer)}\n`);
    context.stderr.write(say`published to ${registry === 'local' ? storeRoot(context.home) : registry}\n`);
  }
}
