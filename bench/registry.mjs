// @ts-check
// Measures how many archives the registry takes and gives.
import { installPeers } from './support/peers.mjs';
import {
  batchSize,
  downloadedArchive,
  downloadsPerSecond,
  publishBatch,
  writeVersions,
} from './support/registry-load.mjs';
import { startBareKeeper, startNginx, startSvcRegistry, startVerdaccio } from './support/registry-servers.mjs';
import { processorMs } from './support/processor-time.mjs';
import { peakKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';

/** @typedef {import('./support/registry-servers.mjs').RegistryProcess} RegistryProcess */

const rounds = 11;

/**
 * Archives of a megabyte published per second, each on the disk before it is confirmed, against verdaccio, which syncs nothing, and against a bare server that
 * writes and syncs as many files and knows nothing of them.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const registryPublish = [
  publishRow('registry-publish', 3, 'verdaccio', async () => {
    await installPeers();
    return await startVerdaccio();
  }),
  publishRow('registry-publish-kept', 0.6, 'bare node:http', startBareKeeper),
];

/** Processor time of such a publish where 1,000 versions of the artifact are there, against 100 of them. */
/** @type {import('./support/row.mjs').Row} */
export const registryVersions = {
  name: 'registry-versions',
  goal: { atMost: 1.1 },
  unit: 'times',
  async measure() {
    const withVersions = (/** @type {number} */ count) => () =>
      startSvcRegistry((objects) => writeVersions(objects, count));
    return await between(withVersions(1000), withVersions(100), async (many, few) => {
      const { subject, floor, ratio } = await alternate({
        rounds: 15,
        subject: () => publishMs(many),
        floor: () => publishMs(few),
      });
      return {
        subject: `1,000 versions ${subject.toFixed(2)} ms`,
        floor: `100 versions ${floor.toFixed(2)} ms`,
        figure: ratio,
      };
    });
  },
};

/** One of these archives downloaded over and over, against verdaccio. */
/** @type {import('./support/row.mjs').Row} */
export const registryDownload = {
  name: 'registry-download',
  goal: { atLeast: 1.8 },
  unit: 'times',
  async measure() {
    await installPeers();
    return await between(startSvcRegistry, startVerdaccio, async (svc, verdaccio) => {
      await publishBatch(svc);
      await publishBatch(verdaccio);
      return await downloads(svc, verdaccio, 'verdaccio');
    });
  },
};

/** The same against nginx, which sends a file of the same length and knows nothing of it. */
/** @type {import('./support/row.mjs').Row} */
export const registryNginx = {
  name: 'registry-nginx',
  goal: { atLeast: 0.35 },
  unit: 'times',
  async measure() {
    const archive = await downloadedArchive();
    return await between(
      startSvcRegistry,
      () => startNginx(archive),
      async (svc, nginx) => {
        await publishBatch(svc);
        return await downloads(svc, nginx, 'nginx');
      },
    );
  },
};

/** The most memory that a server ever had, of one that has taken and given these archives, against verdaccio. */
/** @type {import('./support/row.mjs').Row} */
export const registryMemory = {
  name: 'registry-memory',
  goal: { atMost: 0.5 },
  unit: 'times',
  async measure() {
    await installPeers();
    const { subject, floor } = await alternate({
      rounds: 9,
      subject: () => peakMegabytes(startSvcRegistry),
      floor: () => peakMegabytes(startVerdaccio),
    });
    return {
      subject: `registry ${subject.toFixed(0)} MB`,
      floor: `verdaccio ${floor.toFixed(0)} MB`,
      figure: subject / floor,
    };
  },
};

/**
 * @param {RegistryProcess} svc
 * @param {{ port: number, downloadRequest: RegistryProcess['downloadRequest'] }} other
 * @param {string} floorName
 */
async function downloads(svc, other, floorName) {
  const { subject, floor } = await alternate({
    rounds,
    subject: () => downloadsPerSecond(svc),
    floor: () => downloadsPerSecond(other),
  });
  return perSecond({ subject, floor, floorName }, 'download');
}

/**
 * @param {string} name
 * @param {number} atLeast
 * @param {string} floorName
 * @param {() => Promise<Pick<RegistryProcess, 'port' | 'publishRequest' | 'stop'>>} startFloor
 * @returns {import('./support/row.mjs').Row}
 */
function publishRow(name, atLeast, floorName, startFloor) {
  return {
    name,
    goal: { atLeast },
    unit: 'times',
    measure: () =>
      between(startSvcRegistry, startFloor, async (svc, other) => {
        const { subject, floor } = await alternate({
          rounds,
          subject: () => publishBatch(svc),
          floor: () => publishBatch(other),
        });
        return perSecond({ subject, floor, floorName }, 'publish');
      }),
  };
}

/** @param {RegistryProcess} server */
export async function publishMs(server) {
  const before = await processorMs(server.pid);
  await publishBatch(server);
  return ((await processorMs(server.pid)) - before) / batchSize;
}

/** @param {() => Promise<RegistryProcess>} start */
async function peakMegabytes(start) {
  const server = await start();
  try {
    await publishBatch(server);
    await downloadsPerSecond(server);
    return (await peakKilobytes(server.pid)) / 1024;
  } finally {
    await server.stop();
  }
}

/**
 * @template {{ stop(): Promise<void> }} Floor
 * @param {() => Promise<RegistryProcess>} startSubject
 * @param {() => Promise<Floor>} startFloor
 * @param {(subject: RegistryProcess, floor: Floor) => Promise<import('./support/row.mjs').Measured>} measure
 */
async function between(startSubject, startFloor, measure) {
  const floor = await startFloor();
  try {
    const subject = await startSubject();
    try {
      return await measure(subject, floor);
    } finally {
      await subject.stop();
    }
  } finally {
    await floor.stop();
  }
}

/**
 * @param {{ subject: number, floor: number, floorName: string }} rates
 * @param {string} what
 * @returns {import('./support/row.mjs').Measured}
 */
function perSecond({ subject, floor, floorName }, what) {
  return {
    subject: `${what} ${subject.toFixed(0)}/s`,
    floor: `${floorName} ${floor.toFixed(0)}/s`,
    figure: subject / floor,
  };
}
