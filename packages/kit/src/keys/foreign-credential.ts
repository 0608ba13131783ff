/** Finds credentials in a request to a host that is granted with one of its own: a listed host must not be a way out under the key of somebody else. */

interface ShownRequest {
  /** A path with its query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const credentialHeader =
  /(?:^|-)(?:authorization|cookie2?|token|secret|password|passwd|passphrase|credentials?|signature|jwt|auth|apikey|(?:api|access|subscription|account|auth|private|functions?)-?key(?:-id)?)$/;
/** Headers in which nobody shows a key, whatever their names end with. */
const harmlessHeaders: ReadonlySet<string> = new Set(['sec-websocket-key', 'x-csrf-token', 'x-xsrf-token']);

const credentialParameter =
  /^key$|(?:access|api|auth|private|subscription|service|app|application|account|secret)[-_.]?key(?:[-_.]?id)?$|(?:token|secret|passw(?:or)?d|passphrase|auth|authorization|credentials?|signature|jwt|sas)$|^(?:pass|pwd|sig|sid|session(?:[-_.]?id)?|googleaccessid)$/;
/** Where a list goes on. */
const harmlessParameter =
  /^(?:page|next|next[-_]?page|continuation|continue|sync|cursor|start|marker|skip)[-_.]?token$/;

/** Access keys of the signatures that services of Amazon and others like it take. */
const accessKeyId = /(?:^|[^A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/;

/** What in a request is a credential, or has the name of one, as words without its value; null without any. `header` is the one that is filled in, in lower case. */
export function foreignCredential({ target, headers }: ShownRequest, header: string): string | null {
  for (const [written, value] of headers) {
    // Servers that hand headers on as variables take both for one.
    const name = written.toLowerCase().replaceAll('_', '-');
    if (name === header || isCredentialHeader(name)) return `the header ${name}`;
    if (accessKeyId.test(value)) return `an access key in the header ${name}`;
  }
  if (accessKeyId.test(decodedLoosely(target))) return 'an access key in its address';
  const [, query = ''] = /\?(.*)$/s.exec(target) ?? [];
  const name = query.split(/[&;]/).map(parameterName).find(isCredentialParameter);
  return name === undefined ? null : 'a parameter of its query that is named like one';
}

/** Whether a header has the name of a credential. */
export function isCredentialHeader(written: string): boolean {
  const name = written.toLowerCase().replaceAll('_', '-');
  return credentialHeader.test(name) && !harmlessHeaders.has(name);
}

function parameterName(parameter: string): string {
  const [name = ''] = parameter.split('=', 1);
  return decodedLoosely(name.replaceAll('+', ' '));
}

function isCredentialParameter(name: string): boolean {
  // `accessToken` and `data[token]` are read like `access-token` and `token`.
  const plain = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[\s[\]]+/g, '.')
    .replace(/\.$/, '');
  return credentialParameter.test(plain) && !harmlessParameter.test(plain);
}

function decodedLoosely(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
