import { describe, expect, it } from 'vitest';

import { noContainment, type Containment } from '@svc/sandbox/containment.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { answerFloor } from './answer-floor.ts';

/** A host that achieves a class; nothing is started on it. */
function host(achieved: ContainmentClass): Containment {
  return {
    ...noContainment('user namespaces are not allowed'),
    achieved,
    mechanism: 'some mechanism',
    usernsGrant: 'granted',
  };
}

describe('holding a host to the floor', () => {
  it.each<[achieved: ContainmentClass, declared: ContainmentClass, met: boolean]>([
    ['advisory', 'advisory', true],
    ['advisory', 'scoped', false],
    ['advisory', 'sealed', false],
    ['scoped', 'advisory', true],
    ['scoped', 'scoped', true],
    ['scoped', 'sealed', false],
    ['sealed', 'advisory', true],
    ['sealed', 'scoped', true],
    ['sealed', 'sealed', true],
  ])('finds that %s against a floor of %s is enough: %s [D1-MECH-05]', (achieved, declared, met) => {
    const { report, refusal } = answerFloor({ declared, containment: host(achieved), ceiling: 'sealed' });
    expect(report).toEqual({
      declared,
      achieved,
      floorMet: met,
      mechanism: 'some mechanism',
      usernsGrant: 'granted',
    });
    expect(refusal?.code ?? null).toBe(met ? null : 'E-CAP-003');
  });

  it('gives the reason of the host [D1-ERR-03]', () => {
    const { refusal } = answerFloor({ declared: 'sealed', containment: host('scoped'), ceiling: 'sealed' });
    expect(refusal?.message).toBe(
      'the containment floor cannot be met: declared sealed, achieved scoped (user namespaces are not allowed)',
    );
  });

  it('gives the ceiling as the reason where the ceiling is what keeps the host below the floor', () => {
    const { report, refusal } = answerFloor({ declared: 'scoped', containment: host('sealed'), ceiling: 'advisory' });
    expect(report).toMatchObject({ achieved: 'advisory', floorMet: false });
    expect(refusal?.message).toBe(
      'the containment floor cannot be met: declared scoped, achieved advisory (SVC_CONTAINMENT_CEILING is advisory)',
    );
  });

  it('takes no ceiling for a reason that lowers nothing', () => {
    const { refusal } = answerFloor({ declared: 'sealed', containment: host('scoped'), ceiling: 'scoped' });
    expect(refusal?.message).toContain('achieved scoped (user namespaces are not allowed)');
  });
});
