// @ts-check
// Lists what is in a release, as SPDX 2.3 in JSON: svc and all software of others that is built into it.
import { shippedSoftware } from './shipped-software.mjs';

/**
 * @param {{ version: string, sha256: string, created: string }} release `sha256` is that of the tarball of svc, `created` a time in UTC to the second.
 * @returns {Record<string, unknown>}
 */
export function spdxList({ version, sha256, created }) {
  const checksums = [{ algorithm: 'SHA256', checksumValue: sha256 }];
  const svc = listed({ name: 'svc', version, license: 'Apache-2.0' }, { SPDXID: 'SPDXRef-svc', checksums });
  const others = shippedSoftware().map((notice, index) => listed(notice, { SPDXID: `SPDXRef-${index + 1}` }));
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `svc-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/svc-${version}-${sha256}`,
    creationInfo: { created, creators: ['Tool: svc-release'] },
    packages: [svc, ...others],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: svc.SPDXID },
      ...others.map(({ SPDXID }) => ({
        spdxElementId: svc.SPDXID,
        relationshipType: 'CONTAINS',
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
}

/**
 * @param {{ name: string, version: string | null, license: string }} software
 * @param {{ SPDXID: string, checksums?: object[] }} more
 */
function listed({ name, version, license }, { SPDXID, ...more }) {
  const terms = license.replaceAll(' and ', ' AND ');
  const isPackage = version !== null && SPDXID !== 'SPDXRef-svc';
  return {
    name,
    SPDXID,
    ...(version === null ? {} : { versionInfo: version }),
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: terms,
    licenseDeclared: terms,
    copyrightText: 'NOASSERTION',
    ...(isPackage ? { externalRefs: [packageUrl({ name, version })] } : {}),
    ...more,
  };
}

/** @param {{ name: string, version: string | null }} of */
function packageUrl({ name, version }) {
  return {
    referenceCategory: 'PACKAGE-MANAGER',
    referenceType: 'purl',
    referenceLocator: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  };
}
