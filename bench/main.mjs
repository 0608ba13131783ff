// @ts-check
// npm run bench [-- --peers | --plots | <row>...]: measures and prints one table. A row that cannot run says why, and the exit code is 1. A name that ends in an
// asterisk stands for all rows that begin like it. With --peers it brings the programs and libraries of others first, says which versions are there, and
// measures the rows against them alone; without it, rows whose peer takes long to bring are left out unless they are named. With --plots it draws
// docs/pictures/costs.svg instead.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';

import { a2aRows } from './a2a.mjs';
import { agentTurn, journalTurn } from './agent-turn.mjs';
import {
  containedBubblewrap,
  containedFirst,
  containedHeap,
  containedKeyed,
  containedInSmall,
  containedScoped,
  containedSealed,
} from './contained-launch.mjs';
import { firstAnswers } from './first-answers.mjs';
import { firstChildTurn } from './first-child-turn.mjs';
import { firstToolCall } from './first-tool-call.mjs';
import { idleMemory } from './idle-memory.mjs';
import { idleWatchers } from './idle-watchers.mjs';
import { jsonRpc } from './json-rpc.mjs';
import { keyRequest } from './key-requests.mjs';
import { longConversation } from './long-conversation.mjs';
import { longMessage } from './long-message.mjs';
import { manyCapsules } from './many-capsules.mjs';
import { murmurRows } from './murmur.mjs';
import { oneTask } from './one-task.mjs';
import { plots } from './plots.mjs';
import { refereeCycles, refereeSpawn } from './referee-cycles.mjs';
import { registryDownload, registryMemory, registryNginx, registryPublish, registryVersions } from './registry.mjs';
import { resourceReads } from './resource-reads.mjs';
import { resumedChat } from './resumed-chat.mjs';
import { containedSandlock, sandboxCommands } from './sandboxes.mjs';
import { signatureVerify, signedInstall } from './signatures.mjs';
import { startUp } from './start-up.mjs';
import { streamRows } from './stream.mjs';
import { streamP99, streamStalled } from './stream-latency.mjs';
import { streamPeers } from './stream-peers.mjs';
import { broughtPeer, leftOut, peers } from './support/peer-programs.mjs';
import { drawPlots } from './support/plot.mjs';
import { meets, renderTable } from './support/row.mjs';
import { telemetrySpan, telemetryStart } from './telemetry.mjs';
import { terminalLines } from './terminal-lines.mjs';
import { traceDiff, traceShow } from './trace.mjs';
import { turnRows } from './turns.mjs';
import { viewerRows } from './viewer.mjs';
import { warmToolCall } from './warm-tool-call.mjs';
import { workdirFirstQuestion } from './workdir-first-question.mjs';

/** @type {readonly import('./support/row.mjs').Row[]} */
const rows = [
  ...startUp,
  ...oneTask,
  idleMemory,
  ...manyCapsules,
  ...jsonRpc,
  ...resourceReads,
  signatureVerify,
  signedInstall,
  agentTurn,
  ...turnRows,
  journalTurn,
  longConversation,
  longMessage,
  resumedChat,
  workdirFirstQuestion,
  firstToolCall,
  firstChildTurn,
  warmToolCall,
  containedScoped,
  containedSealed,
  containedBubblewrap,
  containedHeap,
  containedKeyed,
  keyRequest,
  containedFirst,
  ...containedInSmall,
  ...sandboxCommands,
  containedSandlock,
  ...murmurRows,
  ...streamRows,
  ...streamPeers,
  ...a2aRows,
  ...firstAnswers,
  streamP99,
  streamStalled,
  idleWatchers,
  refereeCycles,
  refereeSpawn,
  ...registryPublish,
  registryVersions,
  registryDownload,
  registryNginx,
  registryMemory,
  traceDiff,
  traceShow,
  terminalLines,
  telemetrySpan,
  telemetryStart,
  ...viewerRows,
];

const withPeers = process.argv.includes('--peers');
const named = process.argv.slice(2).filter((argument) => !['--peers', '--plots'].includes(argument));
const wanted = withPeers ? [...named, ...peers.flatMap((peer) => peer.rows)] : named;
const heavy = new Set(peers.flatMap(({ isHeavy, rows }) => (isHeavy === true ? rows : [])));
/** @type {(row: string, asked: string) => boolean} */
const isMeant = (row, asked) => (asked.endsWith('*') ? row.startsWith(asked.slice(0, -1)) : row === asked);
const unknown = wanted.filter((asked) => !rows.some(({ name }) => isMeant(name, asked)));
if (unknown.length > 0) {
  console.error(`no such row: ${unknown.join(', ')}; there are ${rows.map((row) => row.name).join(', ')}`);
  process.exit(2);
}

execFileSync(process.execPath, [fileURLToPath(new URL('../scripts/build.mjs', import.meta.url))], { stdio: 'inherit' });

if (process.argv.includes('--plots')) {
  await writePlots();
  process.exit(0);
}
if (withPeers) await bringPeers();

/** @type {string[]} */
const failures = [];
/** @type {string[][]} */
const table = [['row', 'subject', 'floor', 'figure', 'goal', '']];
const measured = rows.filter(({ name }) =>
  wanted.length === 0 ? !heavy.has(name) : wanted.some((asked) => isMeant(name, asked)),
);
for (const row of measured) {
  if (process.stderr.isTTY) process.stderr.write(`measuring ${row.name}\n`);
  table.push(await lineOf(row));
}
console.log(renderTable(table));
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;

async function writePlots() {
  const load = loadavg()[0] ?? 0;
  const month = new Date().toLocaleDateString('en', { month: 'long', year: 'numeric' });
  const note = `Node ${process.versions.node}, ${availableParallelism()} processors, ${month}. Load of the machine before: ${load.toFixed(1)}`;
  writeFileSync(new URL('../docs/pictures/costs.svg', import.meta.url), drawPlots(await plots(), note));
}

async function bringPeers() {
  const lines = [['peer', 'version']];
  for (const peer of peers) {
    const { isThere, said } = await broughtPeer(peer);
    lines.push([peer.name, isThere ? said : `not there: ${said}`]);
  }
  for (const { name, why } of leftOut) lines.push([name, `not compared: ${why}`]);
  console.log(`${renderTable(lines)}\n`);
}

/**
 * @param {import('./support/row.mjs').Row} row
 * @returns {Promise<string[]>}
 */
async function lineOf(row) {
  const goal = 'atMost' in row.goal ? `at most ${row.goal.atMost}` : `at least ${row.goal.atLeast}`;
  try {
    const { subject, floor, figure } = await row.measure();
    const verdict = meets(row.goal, figure) ? 'met' : 'missed';
    return [row.name, subject, floor, `${figure.toFixed(2)} ${row.unit}`, goal, verdict];
  } catch (error) {
    // Whatever keeps one row from being measured, the others still are.
    failures.push(`${row.name} could not run: ${error instanceof Error ? error.message : String(error)}`);
    return [row.name, '', '', 'could not run', goal, ''];
  }
}
