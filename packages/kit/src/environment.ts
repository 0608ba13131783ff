/** Variables by name, the way `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;

const ofNetwork = /^(?:(?:https?|all)_proxy|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS)$/i;

/** Whether the variables name a proxy, or authorities of certificates. */
export function namesNetwork(env: Environment): boolean {
  return Object.keys(env).some((name) => ofNetwork.test(name) && env[name] !== '');
}
