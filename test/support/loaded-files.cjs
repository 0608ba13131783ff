// Loaded with --require: at the end of the process, writes the names of all files that were loaded into the file that LOADED_FILES names.
const { writeFileSync } = require('node:fs');

process.on('exit', () => writeFileSync(process.env.LOADED_FILES, Object.keys(require.cache).join('\n')));
