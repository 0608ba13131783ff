/** Makes the address that a driver asks out of `inference.endpoint`, in all the forms in which makers print theirs. */

/** One of the APIs by which models are asked. */
interface ProviderApi {
  readonly name: string;
  /** What follows the version in its addresses. */
  readonly path: string;
  /** Null where no bundled driver speaks it. */
  readonly driver: string | null;
}

export const chatCompletions: ProviderApi = {
  name: 'Chat Completions',
  path: '/chat/completions',
  driver: 'svc-driver-openai',
};
export const messages: ProviderApi = { name: 'Messages', path: '/messages', driver: 'svc-driver-anthropic' };
const responses: ProviderApi = { name: 'Responses', path: '/responses', driver: null };

const origin = /^https?:\/\/[^/]+$/i;
/** A version is the last part of a path or the one before it, as in `/v1beta/openai`. */
const versionAtEnd = /\/v\d+(?:(?:alpha|beta)\d*)?(?:\/[^/]+)?$/i;

/**
 * Where to ask: a whole address stays as it is, an origin gets `/v1` and the path of the API, and a path with a version of its own gets the
 * path alone. So does any other path, except for Messages, where makers mean theirs to be followed by `/v1/messages` (docs/manifest.md "The address of the provider").
 * Throws an `Error` for no address, and for a whole one of another API.
 */
export function providerUrl(endpoint: string, api: ProviderApi): string {
  const address = endpoint.replace(/\/+$/, '');
  if (address === '') throw new Error('inference.endpoint is not set');
  if (address.endsWith(api.path)) return address;
  const other = [chatCompletions, messages, responses].find(({ path }) => address.endsWith(path));
  if (other !== undefined) throw new Error(misled(other, api));
  const wantsVersion = origin.test(address) || (api === messages && !versionAtEnd.test(address));
  return `${address}${wantsVersion ? '/v1' : ''}${api.path}`;
}

function misled(other: ProviderApi, api: ProviderApi): string {
  const instead = other.driver === null ? '' : `, or name the driver ${other.driver}`;
  return `inference.endpoint is an address of the ${other.name} API, and this driver speaks ${api.name}: leave out its ${other.path}${instead}`;
}
