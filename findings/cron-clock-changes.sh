#!/bin/sh
# One job and the two days in New York on which the clocks change. "30 1 * * *", once a day, runs twice on the day with two such times by croniter 7.0.0,
# and once by the others. "30 2 * * *" has no such time in spring: it runs at 3:30 by cron-parser 5.10.6, and at 3:00 by croner 11.0.1, cron 4.4.0, croniter
# and cronsim 2.8. "0 */2 * * *", the even hours: in spring a run in place of 2:00 is left out by croner and cronsim; in autumn cron 4.4.0 runs
# at 1:00 too, which is no even hour.
# Seen with Node 20 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache="$folder/npm"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts croner@11.0.1 cron-parser@5.10.6 cron@4.4.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check croniter==7.0.0 cronsim==2.8 tzdata
cat >lines.json <<'JSON'
[
  ["30 1 * * *", "2026-10-31T12:00:00Z"],
  ["30 2 * * *", "2026-03-07T12:00:00Z"],
  ["0 */2 * * *", "2026-03-08T04:30:00Z"],
  ["0 */2 * * *", "2026-11-01T03:30:00Z"]
]
JSON
cat >next.js <<'JS'
import { readFileSync } from 'node:fs';

import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';

const zone = 'America/New_York';
const libraries = {
  croner: (line, from) => new Cron(line, { timezone: zone }).nextRuns(3, from),
  'cron-parser': (line, from) => CronExpressionParser.parse(line, { currentDate: from, tz: zone }).take(3).map((next) => next.toDate()),
  cron(line, from) {
    const time = new CronTime(line, zone);
    const runs = [from];
    while (runs.length < 4) runs.push(time.getNextDateFrom(runs.at(-1), zone).toJSDate());
    return runs.slice(1);
  },
};
const clock = new Intl.DateTimeFormat('en', {
  timeZone: zone,
  hourCycle: 'h23',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
});
const shown = (run) => {
  const { month, day, hour, minute } = Object.fromEntries(clock.formatToParts(run).map(({ type, value }) => [type, value]));
  return `${month}-${day} ${hour}:${minute}`;
};
for (const [line, from] of JSON.parse(readFileSync('lines.json', 'utf8')))
  for (const [name, next] of Object.entries(libraries)) console.log(`${line} ${name}: ${next(line, new Date(from)).map(shown).join(', ')}`);
JS
cat >next.py <<'PY'
import json
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

zone = ZoneInfo("America/New_York")
with open("lines.json") as file:
    for line, start in json.load(file):
        start = datetime.fromisoformat(start).astimezone(zone)
        times, runs = croniter(line, start), CronSim(line, start)
        for name, following in (("croniter", lambda: times.get_next(datetime)), ("cronsim", lambda: next(runs))):
            seen = [following() for _ in range(3)]
            print(f"{line} {name}:", ", ".join(run.astimezone(zone).strftime("%m-%d %H:%M") for run in seen))
PY
seen=$(TZ=UTC node next.js && TZ=UTC python/bin/python next.py)
printf '%s\n' "$seen"
[ "$seen" = '30 1 * * * croner: 11-01 01:30, 11-02 01:30, 11-03 01:30
30 1 * * * cron-parser: 11-01 01:30, 11-02 01:30, 11-03 01:30
30 1 * * * cron: 11-01 01:30, 11-02 01:30, 11-03 01:30
30 2 * * * croner: 03-08 03:00, 03-09 02:30, 03-10 02:30
30 2 * * * cron-parser: 03-08 03:30, 03-09 02:30, 03-10 02:30
30 2 * * * cron: 03-08 03:00, 03-09 02:30, 03-10 02:30
0 */2 * * * croner: 03-08 00:00, 03-08 04:00, 03-08 06:00
0 */2 * * * cron-parser: 03-08 00:00, 03-08 03:00, 03-08 04:00
0 */2 * * * cron: 03-08 00:00, 03-08 03:00, 03-08 04:00
0 */2 * * * croner: 11-01 00:00, 11-01 02:00, 11-01 04:00
0 */2 * * * cron-parser: 11-01 00:00, 11-01 02:00, 11-01 04:00
0 */2 * * * cron: 11-01 00:00, 11-01 01:00, 11-01 02:00
30 1 * * * croniter: 11-01 01:30, 11-01 01:30, 11-02 01:30
30 1 * * * cronsim: 11-01 01:30, 11-02 01:30, 11-03 01:30
30 2 * * * croniter: 03-08 03:00, 03-09 02:30, 03-10 02:30
30 2 * * * cronsim: 03-08 03:00, 03-09 02:30, 03-10 02:30
0 */2 * * * croniter: 03-08 00:00, 03-08 03:00, 03-08 04:00
0 */2 * * * cronsim: 03-08 00:00, 03-08 04:00, 03-08 06:00
0 */2 * * * croniter: 11-01 00:00, 11-01 02:00, 11-01 04:00
0 */2 * * * cronsim: 11-01 00:00, 11-01 02:00, 11-01 04:00' ]
