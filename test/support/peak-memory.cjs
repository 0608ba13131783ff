// Loaded with --require: at the end of the process, writes how many KiB of memory it had at most into the file that PEAK_MEMORY names.
const { writeFileSync } = require('node:fs');

process.on('exit', () => writeFileSync(process.env.PEAK_MEMORY, String(process.resourceUsage().maxRSS)));
