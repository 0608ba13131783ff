const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** `<os>-<arch>` of a platform variant, such as `linux-x86_64` (contracts §1, D3 `409`). */
export const platformShape = /^[a-z0-9]+-[a-z0-9_]+$/;

/** The platform of a host, from Node's names for its operating system and architecture. */
export function platformOf(host: { readonly platform: string; readonly arch: string }): string {
  return `${host.platform}-${architectures[host.arch] ?? host.arch}`;
}
