import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../../../../../../test/support/authorization-server.ts';
import { RemoteMcpServer } from '../../../../../../test/support/remote-server.ts';
import { findOffer, type LoginOffer } from './login-offer.ts';

/** What an OpenID provider has to say of itself beside what any authorization server says (OpenID Connect Discovery 1.0 §3). */
const openid = {
  jwks_uri: 'https://issuer.example/keys',
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
};

async function offerOf(about: object): Promise<{ readonly issuer: string; readonly offer: LoginOffer }> {
  const [issuer, remote] = [await AuthorizationServer.start(), await RemoteMcpServer.start()];
  onTestFinished(() => {
    issuer.close();
    remote.close();
  });
  remote.ways.protection = { issuer: issuer.issuer, isKnown: () => false };
  issuer.rules.instead = (_request, response, path) => {
    if (path === '/.well-known/oauth-authorization-server') response.writeHead(404).end();
    else if (path === '/.well-known/openid-configuration')
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...issuer.metadata(), ...openid, ...about }));
    else return false;
    return true;
  };
  return { issuer: issuer.issuer, offer: await findOffer(new URL(remote.url), { proxyFor: null }) };
}

describe('what a server offers whose logins an OpenID provider gives', () => {
  it('has the place where tokens are taken back', async () => {
    const { issuer, offer } = await offerOf({});
    expect(offer).toMatchObject({ issuer, revocation: `${issuer}/revoke` });
  });

  it.each([undefined, null, 7, 'nowhere'])('has none where that is said to be %s', async (place) => {
    const { offer } = await offerOf({ revocation_endpoint: place });
    expect(offer.revocation).toBe(null);
  });
});
