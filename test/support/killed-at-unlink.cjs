// Preloaded with NODE_OPTIONS: kills the process in place of the removal of a text of a journal, the one that KILL_AT counts to.
const promises = require('node:fs/promises');
const path = require('node:path');

const { unlink } = promises;
let seen = 0;
promises.unlink = async (file) => {
  if (/^[0-9a-f]{64}$/.test(path.basename(String(file)))) seen += 1;
  if (seen === Number(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL');
  return await unlink(file);
};
