/** The codes of artifacts, the store, svc.lock and the sources of artifacts. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** The codes of artifacts and of the registries that give and take them; a part of the catalogue. */
export const artifactCodes = {
  'E-ART-001': {
    title: 'an archive cannot be read',
    explanation:
      'The file is not a zip archive, is cut short or damaged (a checksum or size is wrong), is encrypted, or uses a compression other than deflate. Fetch or build it again.',
  },
  'E-ART-002': {
    title: 'an archive holds an entry that is not allowed',
    explanation:
      'Absolute paths, ".." components, backslashes, links, special files, names that are there twice or collide in case or Unicode form, and overlapping data are refused. Nothing of the archive was written.',
  },
  'E-ART-003': {
    title: 'an archive or a file in it is too large',
    explanation:
      'An archive holds at most 500 MiB unpacked in at most 10000 entries and is at most 512 MiB itself; svc.yaml and texts are at most 1 MiB each.',
  },
  'E-ART-004': {
    title: 'an artifact lacks a file it needs, or the file is not what it should be',
    explanation:
      'An artifact has svc.yaml at its root, and beside it component.wasm (a WebAssembly component), bin/<name> (implementation: native), what its command begins with (implementation: mcp) or skill.md (runtime: skill). A standard skill folder has SKILL.md in place of both, which begins with a head of YAML that has a description.',
  },
  'E-ART-005': {
    title: 'an artifact is not the one that was asked for',
    explanation:
      'The name, version or runtime in the svc.yaml of the artifact disagrees with the place that names it. Correct one of the two.',
  },
  'E-ART-006': {
    title: 'a stored artifact is damaged',
    explanation:
      'The bytes in an artifact store do not have the hash that was recorded when they were stored. Remove the version from the store and install it again.',
  },
  'E-ART-007': {
    title: 'svc.lock cannot be understood',
    explanation:
      'svc.lock is written by svc. It is not valid, for example after a merge, or was written by a newer version. Restore it, or remove it and run svc install.',
  },
  'E-ART-008': {
    title: 'an artifact reference is malformed',
    explanation:
      'An artifact is named <name>@<version> with an exact version, github:<owner>/<repo>@<tag>, or oci://<host>/<repository>:<tag>. A path to install from begins with "./", "../" or "/".',
  },
  'E-ART-009': {
    title: 'a hook declares to commit what it cannot',
    explanation:
      'commit_policy of a hook belongs to events: write-manifests to on-stage, artifact to on-inference, deny to on-tool-call and on-shell, replace-context to on-compaction, reopen-task to on-task-end. A hook is bound to one of them for each of its policies, and an async hook has none.',
  },
  'E-ART-010': {
    title: 'a hook is a program',
    explanation: 'A hook is a WebAssembly component: it is given no process. Build it with implementation: wasm.',
  },
  'E-ART-011': {
    title: 'a component cannot be built from its source',
    explanation:
      'svc build makes component.wasm from component.ts beside svc.yaml, with the packages @svc/guest, esbuild and componentize-qjs of that folder. They are not installed, the source cannot be bundled or breaks off when it is loaded, it imports an interface that svc does not offer, or it does not export run (a tool), lifecycle (a hook) or inference (a driver).',
  },
  'E-ART-012': {
    title: 'a blocking hook declares what happens when its queue is full',
    explanation:
      'on_overflow is about the events that an async hook has not heard yet. A blocking hook has no queue: the session waits for it at each event. Remove on_overflow, or set execution_mode: async.',
  },
  'E-ART-013': {
    title: 'a component is not what its source builds',
    explanation:
      'svc build --check builds component.ts again and compares the bytes with component.wasm, which differ or are not there. The source, or the version of @svc/guest or of esbuild, was changed after the last build, or the component was built from something else. svc build makes it anew.',
  },
  'E-ART-014': {
    title: 'a plain WebAssembly component cannot be made an artifact',
    explanation:
      'Other projects keep components alone in OCI registries. svc packs one into a tool with the svc.yaml that --artifact-manifest names, when the component exports svc:tool/run, the interface by which svc calls tools. The message says what it is or exports instead. Without --artifact-manifest, and for what the svc.yaml of a project takes from there, only artifacts that svc publish has made are taken.',
  },
  'E-ART-015': {
    title: 'the engine of components is damaged',
    explanation:
      'Components written in TypeScript are built with the engine in packages/components/engine of the installation of svc. It is not there, or its bytes do not have the hash that engine.json names. Install svc anew; in a checkout, restore both files, or make them with node scripts/make-engine.mjs.',
  },
  'E-ART-016': {
    title: 'a component is built for interfaces that this svc does not have',
    explanation:
      'A component names the interfaces of its host that it uses, with their versions. docs/authoring.md "What a component can import" lists those that svc offers; leave out what the message names, or do it another way, such as a request by wasi:http in place of a socket. svc takes the versions that "Versions of the interfaces" there lists: those of the @svc/guest that its svc new writes down, and of older ones. For a component that is built for a later version, update svc; for one that is built for an earlier version than the list begins with, build it again. Build a component of WASI 0.3 for WASI 0.2: svc runs no async functions.',
  },
  'E-ART-017': {
    title: 'an unpacked capsule is not what its archive holds',
    explanation:
      'svc run --capsule unpacks a capsule once below .svc/capsules/ of the current directory, and compares what lies there with the archive at each later start: a signature is of the archive, and a folder that came from elsewhere may bring such a directory. A file has other bytes, is missing, or is not in the archive; svc.lock and .svc may be there. A power cut can have emptied files, and a program can have written beside them. Move the directory away: the next start unpacks the archive anew, and makes svc.lock anew.',
  },
  'E-REG-001': {
    title: 'an artifact was found nowhere',
    explanation:
      'Neither the bundled artifacts, nor the stores of the project and the user, nor a configured source has the artifact for this platform.',
  },
  'E-REG-002': {
    title: 'an artifact did not arrive as its source announced it',
    explanation:
      'The hash of the received bytes is not the one that the source named, or a registry named none. Nothing was stored.',
  },
  'E-REG-003': {
    title: 'the version is published already',
    explanation:
      'What is published never changes: name and version stand for the same bytes for ever. Publish a new version.',
  },
  'E-REG-004': {
    title: 'the version is reserved',
    explanation: 'latest, stable and edge name no artifact. Name an exact version.',
  },
  'E-REG-005': {
    title: 'what would be installed disagrees with svc.lock',
    explanation:
      'A source serves other bytes for a version than svc.lock records, or has them in another document of an OCI registry, or an MCP server on the web lists other tools than the version in svc.yaml stands for, or, with --frozen, svc.lock does not record exactly what the manifest needs. A published version never changes: find out why it did before you remove its entry from svc.lock and install again.',
  },
  'E-REG-006': {
    title: 'the registry or the proxy that is named cannot be used',
    explanation:
      'A registry is named by its address (https, or http to this machine; without /v1), as oci://<host>/<path>, by the name of a source in ~/.svc/config.yaml, or as local. A GitHub repository cannot be published to; neither it nor an OCI registry can be searched. A login for an OCI registry that docker or podman keeps has to be readable, with its helper. The proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names has to be an http:// address, for registries as for models and tools.',
  },
  'E-REG-007': {
    title: 'the platform of a program is unknown',
    explanation:
      'A native artifact is published for the platforms that its program runs on. svc reads them from its first bytes; where these do not show it, name each with --platform <os>-<arch>.',
  },
  'E-REG-009': {
    title: 'an artifact is signed by somebody else',
    explanation:
      'The signature is valid, but by another signer than the trust policy in ~/.svc/config.yaml accepts for this name, or than svc.lock records for the artifact. Find out who it is first: somebody who takes over a name publishes under another identity. A policy is changed in ~/.svc/config.yaml alone; --accept-signer of svc install, add and update records another signer in svc.lock, as far as the policy accepts that one.',
  },
  'E-REG-011': {
    title: 'an artifact has no signature, and the trust policy wants one',
    explanation:
      'A rule of trust.rules in ~/.svc/config.yaml is for this name, and neither beside the archive nor at its source is a signature. Publishers sign with svc publish --sign or svc sign. svc install asks the source again, for signatures that came after the archive. A folder that the manifest names as source: has none: run your own work under a rule with mode: warn for its name, before the other one.',
  },
  'E-REG-012': {
    title: 'the signature of an artifact does not hold',
    explanation:
      'The signature is of other bytes, is broken, or comes from an authority or a log that is not trusted. The message says which. When only the log is unknown here, the list of logs may be old: svc trust update fetches the one of today. When it is by no key of trust.keys, its publisher may have a key that is not known here: get the public key from them, another way than the archive came, and add it. Otherwise do not use the artifact before you know why.',
  },
  'E-REG-013': {
    title: 'the trust policy cannot be used',
    explanation:
      'The trust block of ~/.svc/config.yaml, a key or the list of authorities that it names cannot be read or understood. The command ends: without its policy, artifacts would be used that it may refuse. The message says what is wrong and where.',
  },
  'E-REG-014': {
    title: 'an archive cannot be signed',
    explanation:
      'svc could not read or decrypt the private key, or it has neither a key nor a CI job that gives it an identity token, or the certificate authority or the log of signatures refused. The message says which. Nothing was published.',
  },
  'E-REG-015': {
    title: 'the list of trusted authorities cannot be brought up to date',
    explanation:
      'svc trust update follows the signed metadata of the public Sigstore instance, or of the mirror that --mirror names. They could not be fetched, are expired, or are not signed by those whom the last ones name. The list of before stays.',
  },
  'E-REG-016': {
    title: 'a skill asks for more than was accepted',
    explanation:
      'The skill has changed, and its allowed-tools lets calls through that the list in svc.lock does not, it has none any more, or another program runs a script that the list names. The words are compared by themselves, whatever the capsule grants today. The lines before say what differs; where svc.lock was written by an earlier svc, it does not say what the list was. Look at the skill, then run the command again with --accept-tools, or narrow the skill with tools of its entry in svc.yaml. Nothing was recorded.',
  },
  'E-REG-008': {
    title: 'the version is yanked',
    explanation:
      'The publisher has taken the version back, and says why. svc installs it anew only by its exact version together with --allow-yanked. A project whose svc.lock records it keeps it, with the warning W-REG-005. Choose another version: svc info <name> lists them.',
  },
  'E-REG-010': {
    title: 'the version is blocked',
    explanation:
      'The registry serves the version to nobody any more, for example because it is malicious, and says why. svc install and svc update also refuse a copy that is on this machine, and from then on so does svc run. Choose another version: svc info <name> lists them.',
  },
  'E-REG-028': {
    title: 'no version is what was asked for',
    explanation:
      'The registry has no version that the range allows, or none that may be chosen: yanked and blocked versions are not, and pre-releases only where the range names one of the same three numbers. svc info <name> lists the versions and their states.',
  },
  'E-REG-029': {
    title: 'svc.yaml cannot be changed by svc',
    explanation:
      'svc add, remove and update change the few characters of svc.yaml that are concerned and leave the rest, comments included, as it is. Where the list of artifacts is written in a way that this is not sure to work, such as with anchors and aliases, nothing is changed. Make the change by hand, then run svc install.',
  },
  'E-REG-030': {
    title: 'an artifact is still used',
    explanation:
      'svc remove takes an artifact out of artifacts of svc.yaml. Another part of the manifest names it, such as inference.driver.artifact, and would be without it. Change that part first.',
  },
  'E-REG-031': {
    title: 'another copy of the version goes before the one that was asked for',
    explanation:
      'What comes with svc is found before anything in a store, and a variant for this platform before the generic file. The source that svc add or svc update asked has other bytes under the same name and version, which svc run would not find. Nothing was recorded. Choose another version, or take away the copy that the message names.',
  },
  'W-REG-004': {
    title: 'the version is deprecated',
    explanation:
      'The publisher advises against the version, and says why. It works and installs as before. svc outdated shows what there is instead.',
  },
  'W-REG-005': {
    title: 'a version in use is yanked',
    explanation:
      'The publisher has taken the version back, and says why. Projects whose svc.lock records it still get it, and so does everybody who allows it with --allow-yanked; nobody else does. svc update <name> moves to another version; where its entry has no range, svc update <name> --latest.',
  },
  'W-REG-007': {
    title: 'whether versions are yanked or blocked is not known',
    explanation:
      'Everything that is needed is on this machine, and the registry in use does not answer the question in which state the versions are. They are used as they are. Run the command again when the registry can be reached.',
  },
  'E-REG-027': {
    title: 'a registry redirects to where nobody may be led',
    explanation:
      'A redirect is followed to https alone, or to http of this machine where the registry is on it; never from https to http, never with a user or password that the registry chose, and never from an address of the Internet to one of this machine or of a private network. Nothing was sent there.',
  },
  'W-REG-008': {
    title: 'a mirror is not used',
    explanation:
      'The source in ~/.svc/config.yaml has a mirror, which is asked first for what the source has named by its digest. It did not answer, did not have it, or gave other bytes. The rest came from the source instead; what the mirror gave before is used where it has the digest.',
  },
  'W-REG-009': {
    title: 'a signature beside an archive is of other bytes',
    explanation:
      'svc build replaces an archive and leaves the file of signatures beside it as it is. A signature of the archive that was there before says nothing of the one that is there now: svc publish sends the archive without it. svc sign signs the archive anew, and takes such signatures out of the file.',
  },
  'W-REG-010': {
    title: 'a registry may have lost signatures of what was published',
    explanation:
      'The registry took the signatures before the archive, and the archive. Until an archive is published, other publishers can displace its signatures, so svc publish brings them once more: that failed, or the registry did not have all of them afterwards. svc info shows those that it has. svc sign makes one that lies beside the archive, and svc publish of the archive brings it, before it learns that the registry has the archive already.',
  },
  'W-REG-032': {
    title: 'a project is not recorded for svc prune',
    explanation:
      'The command has done all that it was asked to. svc prune --artifacts -g keeps what the projects in ~/.svc/projects.json need, and this one could not be written there: until a later svc install or svc run of the project has done so, it may remove from ~/.svc/artifacts what only this project needs.',
  },
  'W-REG-006': {
    title: 'an artifact does not meet a rule of the trust policy that only warns',
    explanation:
      'The rule has mode: warn in ~/.svc/config.yaml. The artifact is used all the same. Without that line the rule would refuse it: with E-REG-011 when it has no signature, E-REG-012 when the signature does not hold, E-REG-009 when somebody else has signed it.',
  },
  'E-RUN-003': {
    title: 'an artifact differs from svc.lock',
    explanation:
      'The bytes found for an artifact do not have the hash that svc.lock records. Run svc install to accept a change. A folder that source names is not recorded: its author changes it all the time.',
  },
  'W-ART-001': {
    title: 'a component is older than its source',
    explanation:
      'component.wasm is used as it is, and its source beside it has been changed after it was built. svc build builds a component.ts anew, build.sh what is written in another language.',
  },
  'W-ART-002': {
    title: 'a component cannot be built again with the same bytes',
    explanation:
      'svc brings an engine for one version of componentize-qjs, with which the same source gives the same bytes on every machine. Another version is installed beside component.ts, and was used with an engine of its own. Such a component works; but nobody can build it again and compare. Install the version that the hint names.',
  },
  'W-REG-033': {
    title: 'svc.lock records another artifact now',
    explanation:
      'The manifest lists an artifact of which svc.lock named no version. svc run has added the bytes that it found, and later runs are held to them. Commit svc.lock. A changed version of an artifact that is in svc.lock is refused with E-RUN-003, and so is every difference where svc must not write: svc install --frozen and svc test.',
  },
  'W-REG-002': {
    title: 'svc.lock is not written yet',
    explanation:
      'One artifact was installed by its name, and the project has no svc.lock. It would hold every artifact of the manifest or be refused by svc run, and some are not on this machine. svc install without an argument installs them and writes it; so does svc run.',
  },
} as const satisfies Record<string, CatalogueEntry>;
