// SPDX-License-Identifier: Apache-2.0
// browser.mjs SAMPLE_PAGE SOURCE [PICTURES]: the sample page in headless Chromium, spoken to through its own pipe
// (--remote-debugging-pipe), so that nothing beside node and chromium is needed.
//
// Asserts: no error and no request; every chart drawn and not empty, light and dark; hostile names stay text; nothing
// wider than a telephone; sorting and CSV; paper; and tables that can be read without JavaScript.  With PICTURES, a
// folder, it leaves pictures of the page there for people to look at.
import {execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [program, source, pictures, given] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'sickbay-page-'));
let page = given ?? join(folder, 'page.html');
const wrong = [];
function check(right, what) { if (!right) { wrong.push(what); console.error('browser: WRONG: ' + what); } }

const make = (language) => writeFileSync(page, execFileSync(program, [source, language], {maxBuffer: 1 << 28}));
if (!given) make('en');

// ---------------------------------------------------------------- the browser

const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
  '--disable-background-networking', '--disable-component-update', '--remote-debugging-pipe', '--user-data-dir=' + join(folder, 'profile'), 'about:blank'],
  {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {...process.env, HOME: folder}});
browser.on('error', (error) => { console.error('browser: chromium cannot be started: ' + error.message + '; tools/setup installs it'); process.exit(1); });
const answers = new Map(), heard = [], listeners = [];
let last = 0, kept = '';
browser.stdio[4].setEncoding('utf8');
browser.stdio[4].on('data', (text) => {
  const parts = (kept + text).split('\0');
  kept = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.id !== undefined) {
      const {good, bad} = answers.get(message.id);
      answers.delete(message.id);
      if (message.error) bad(new Error(message.error.message)); else good(message.result);
    } else {
      heard.push(message);
      for (const listener of [...listeners]) listener(message);
    }
  }
});
let session;
function ask(method, params = {}) {
  const id = ++last;
  return new Promise((good, bad) => {
    answers.set(id, {good, bad});
    browser.stdio[3].write(JSON.stringify({id, method, params, sessionId: method.startsWith('Target.') ? undefined : session}) + '\0');
  });
}
/** The next event `method`; the test's own time limit bounds the wait. */
function event(method) {
  return new Promise((good) => {
    const listener = (message) => { if (message.method === method) { listeners.splice(listeners.indexOf(listener), 1); good(message.params); } };
    listeners.push(listener);
  });
}
async function run(expression) {
  const {result, exceptionDetails} = await ask('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
async function load(hash = '') {
  const loaded = event('Page.loadEventFired');
  await ask('Page.navigate', {url: 'about:blank'});
  await loaded;
  const again = event('Page.loadEventFired');
  await ask('Page.navigate', {url: pathToFileURL(page).href + hash});
  await again;
}
const settle = () => run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');
async function size(width, height) {
  await ask('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
}
const theme = (value) => ask('Emulation.setEmulatedMedia', {media: '', features: [{name: 'prefers-color-scheme', value}]});
async function picture(name, selector, height = 16000) {
  if (!pictures || (selector && !(await run(`!!document.querySelector(${JSON.stringify(selector)})`)))) return;
  const box = selector ? await run(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}; })()`)
                       : {x: 0, y: 0, ...(await run(`({width: document.documentElement.clientWidth, height: Math.min(document.documentElement.scrollHeight, ${height})})`))};
  const {data} = await ask('Page.captureScreenshot', {format: 'png', captureBeyondViewport: true, clip: {...box, scale: 1}});
  writeFileSync(join(pictures, name + '.png'), Buffer.from(data, 'base64'));
}

// ---------------------------------------------------------------- what must hold

/** Every chart has signs and shapes; says how many there are. */
const kDrawn = `[...document.querySelectorAll('.chart:not([hidden])')].map((place) => {
  const svg = place.querySelector('svg'), canvas = place.querySelector('canvas'), id = place.closest('.report').id;
  if (svg) return {id, shapes: svg.querySelectorAll('path,circle,rect').length, texts: svg.querySelectorAll('text').length, height: svg.getBoundingClientRect().height};
  if (!canvas) return {id, shapes: 0, texts: 0, height: 0, note: place.nextElementSibling.textContent};
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let painted = 0;
  for (let i = 3; i < pixels.length; i += 4) if (pixels[i]) ++painted;
  return {id, shapes: painted > 500 ? 99 : 0, texts: 9, height: canvas.getBoundingClientRect().height};
})`;
async function checkDrawn(where) {
  const charts = await run(kDrawn);
  for (const chart of charts)
    check(chart.shapes >= 4 && chart.texts >= 3 && chart.height > 60, `${where}: the chart of ${chart.id} is not drawn: ${JSON.stringify(chart)}`);
  return charts;
}

async function check_light() {
  await theme('light');
  await size(1440, 900);
  await load();
  const lazily = await run('sickbayReport.charts()'), all = await run('sickbayReport.places()');
  check(lazily < all, `charts out of sight wait: ${lazily} of ${all} are made`);
  await load('#all');
  await settle();
  const charts = await checkDrawn('light');
  if (!given) {
    const kinds = await run(`[...new Set([...document.querySelectorAll('script.data')].map((s) => JSON.parse(s.textContent).kind))].sort().join()`);
    check(kinds === 'bar,box,hbar,heatmap,line,none,pareto,radar,scatter,stacked_area,tiles', 'the sample has every kind: ' + kinds);
    const note = (id) => run(`document.getElementById('${id}').querySelector('.chart-note').textContent`);
    check(await note('use.part_known') === 'Unknown in this log: GPU-hours.', 'a figure that the log lacks is named: ' + await note('use.part_known'));
    check(await note('use.unknown') === 'Nothing to draw: the log does not tell GPU-hours.', 'and so is a chart without any: ' + await note('use.unknown'));
    check(await run(`document.querySelectorAll('.chart[hidden]').length`) === 1, 'only that chart is away');
    await check_odd();
    check(await note('use.users') === 'The first 30 of 736 are drawn; the rest is in the table.', 'what is not drawn is said: ' + await note('use.users'));
    check((await note('systatus.use')).startsWith('45 of 184 points lie below 80'), 'points below the mark are counted: ' + await note('systatus.use'));
    check(await run('window.hit') === undefined, 'a name from the log ran as script: ' + await run('window.hit'));
    check(await run(`document.querySelectorAll('img, main b, main i:not(.meter i), [onmouseover]').length`) === (await run(`document.querySelectorAll('.absent b').length`)),
          'names made elements');
    check(await run(`document.querySelector('.failed-text').textContent.includes('<script>window.hit=6</script>')`), 'the failure is shown as text');
    check(await run(`document.getElementById('chapter-quality').compareDocumentPosition(document.getElementById('chapter-overall')) & 4`) === 4, 'quality of the data comes first');
  }
  await picture('light');
  await picture('top', null, 900);
  for (const chart of charts) await picture('light-' + chart.id, `[id="${chart.id}"]`);
}
/** What a chart shows, as ECharts has it. */
const shown = (id, what) => run(`((option) => JSON.stringify(${what}))(sickbayReport.chart('${id}').getOption())`);
async function check_odd() {
  const same = async (id, what, wanted) => { const is = await shown(id, what); check(is === JSON.stringify(wanted), `${id} shows ${is}, not ${JSON.stringify(wanted)}`); };
  await same('odd.first', 'option.series[1].data', [50, 80, 90]);  // of all, not of those shown
  await same('odd.kinds', 'option.yAxis[0].data', ['gpu (partition)', 'gpu (QOS)', '(all)']);
  await same('odd.gaps', 'option.series[0].data.length', 62);
  await same('odd.gaps', 'option.series[0].data.filter((point) => (point.value ?? point)[1] !== null).map((point) => point.symbol ?? "")', ['', 'circle', 'circle', 'circle', '']);
  await same('odd.one_day', '[option.series[0].type, option.xAxis[0].data]', ['bar', ['2021-05-01']]);
  await same('odd.classes', 'option.series.map((one) => one.name)', ['small', 'large', 'none']);
  const note = (id) => run(`document.getElementById('${id}').querySelector('.chart-note').textContent`);
  // Months and weeks are steps of their own, also where the log has none; what a report has added up is no name.
  await same('odd.months', 'option.xAxis[0].data', ['2021-05', '2021-06', '2021-07', '2021-08']);
  await same('odd.months', '[option.series.length, option.series.at(-1).name, option.series.at(-1).data]', [9, '(all others)', [33, 33, null, 33]]);
  await same('odd.weeks', 'option.xAxis[0].data', ['2021-05-03', '2021-05-10', '2021-05-17', '2021-05-24']);
  await same('odd.tree', '[option.yAxis[0].data.length, option.yAxis[0].data[0], option.yAxis[0].data.at(-1)]', [30, 'account41', 'account99']);
  check(await note('odd.tree') === 'The 30 largest of 100 are drawn; the rest is in the table.', 'which are drawn is said: ' + await note('odd.tree'));
  // Marks stand on the line that they are of.
  await same('odd.mark', 'option.series.find((one) => one.id === "below").data.map((point) => point[1])', [70]);
  await same('odd.mark', 'option.series.filter((one) => one.markLine?.data?.length).map((one) => one.id)', ['1']);
  check((await note('odd.mark')).startsWith('1 of 2 points lie below 80'), 'unknown days are no points: ' + await note('odd.mark'));
  // A log axis has no 0: points, no bars, and what is unknown is away.
  await same('odd.log', '[...new Set(option.series.map((one) => one.type))]', ['scatter']);
  await same('odd.log', 'option.series[0].data', [0.5, 30, null]);
  // One cell does not flatten the others, the tooltip and the note have its figure; cells of few jobs say so.
  await same('odd.outlier', '[option.visualMap[0].max, Math.max(...option.series[0].data.map((cell) => cell.value[2]))]', [119, 119]);
  await same('odd.outlier', 'option.series[0].data.map((cell, i) => (cell.itemStyle?.opacity ? i : -1)).filter((i) => i >= 0)', [3]);
  check(/^Cells above the scale: 1\. It ends at 1 min 59 s; the highest is 1 d 1 h /.test((await note('odd.outlier')).replaceAll('\u00a0', ' ')) && (await note('odd.outlier')).includes('fewer than 10 jobs'),
        'what lies above the scale is said: ' + await note('odd.outlier'));
  // The axis has the name of the quantity; which quantiles are drawn stands below.
  await same('odd.quantiles', '[option.xAxis[0].name, option.yAxis[0].name].filter((name) => /^Cores/i.test(name ?? "")).length', 1);
  check(!JSON.stringify(await shown('odd.quantiles', '[option.xAxis[0].name, option.yAxis[0].name]')).includes('\u00b7'), 'an axis is called by all its quantiles');
  check((await note('odd.quantiles')).startsWith('Box: from 25 % to 75 % of the jobs'), 'the quantiles are said: ' + await note('odd.quantiles'));
  // The extremes stand beyond the whiskers, and the axis has room for them.
  await same('odd.quantiles', 'option.series[1].data.map((point) => [point.place, Math.max(...point.value)])', [[0, 0.5], [0, 90]]);
  check((await note('odd.quantiles')).includes('Circles: the least and the most'), 'the circles are said: ' + await note('odd.quantiles'));
  await same('odd.quantiles', 'option.series[0].data.map((box) => box.itemStyle?.opacity ?? 1)', [1, 0.35]);
  check((await note('odd.quantiles')).includes('fewer than 10 jobs'), 'a box of few jobs says so: ' + await note('odd.quantiles'));
  // What is unknown is a gap, not a 0.
  await same('odd.profile', 'option.series[0].data.map((point) => point[0])', [1, 0.5, null, 0.25, 1]);
  check((await note('odd.profile')).includes('A gap in a line'), 'the gap is said: ' + await note('odd.profile'));
  const cut = await run(`[...document.getElementById('odd.classes').querySelectorAll('svg text')].some((text) => text.textContent.includes('\u2026'))`);
  check(!cut, 'names that fit in lines are cut');
}
async function check_tooltips() {
  // A tooltip is where names become nodes: hover each chart's middle and some more.
  for (const id of await run(`[...document.querySelectorAll('.chart:not([hidden])')].map((place) => place.closest('.report').id)`)) {
    const box = await run(`(() => { const place = document.getElementById(${JSON.stringify(id)}).querySelector('.chart'); place.scrollIntoView({block: 'center', behavior: 'instant'}); const b = place.getBoundingClientRect(); return {x: b.x, y: b.y, width: b.width, height: b.height}; })()`);
    for (const [x, y] of [[0.3, 0.3], [0.5, 0.5], [0.42, 0.35], [0.2, 0.2]])
      await ask('Input.dispatchMouseEvent', {type: 'mouseMoved', x: box.x + box.width * x, y: box.y + box.height * y});
    await settle();
    if (pictures && ['use.users', 'systatus.use', 'use.panels', 'systatus.states'].includes(id)) await picture('tip-' + id, `[id="${id}"]`);
  }
  check(given || await run(`document.querySelectorAll('.tip').length`) > 4, 'tooltips come up');
  check(await run('window.hit') === undefined, 'a tooltip ran a name as script');
}
async function check_dark() {
  const light = await run('getComputedStyle(document.body).backgroundColor');
  await run(`document.getElementById('theme').click()`);
  await settle();
  check(await run('getComputedStyle(document.body).backgroundColor') !== light, 'the button makes it dark');
  const charts = await checkDrawn('dark');
  await picture('dark');
  for (const chart of charts) await picture('dark-' + chart.id, `[id="${chart.id}"]`);
  await run(`document.getElementById('theme').click()`);
  check(await run('getComputedStyle(document.body).backgroundColor') === light, 'and light again');
  await theme('dark');
  await load('#all');
  check(await run('getComputedStyle(document.body).backgroundColor') !== light, 'the system asks for dark and gets it');
  await theme('light');
}
async function check_tables() {
  if (given) return;
  await load();
  const first = () => run(`document.getElementById('use.users').querySelector('tbody tr').cells[0].textContent`);
  const press = (n) => run(`(() => { const head = document.getElementById('use.users').querySelectorAll('th')[${n}]; head.querySelector('button').click(); return head.getAttribute('aria-sort'); })()`);
  check(await first() === 'lammps', 'rows stand as the SQL gave them');
  check(await press(1) === 'descending' && await first() === 'lammps', 'figures sort from the largest');
  check(await press(1) === 'ascending' && await first() !== 'lammps', 'and the other way');
  check(await run(`document.getElementById('use.users').querySelectorAll('tbody tr').length`) === 500, 'a table ends after 500 rows');
  check(await run(`document.getElementById('use.users').querySelector('.cut').textContent.includes('736')`), 'and says how many there are');
  const csv = await run(`sickbayReport.csv('use.users')`);
  check(csv.includes(`"'=HYPERLINK(""http://example.org"")"`), 'CSV disarms formulas');
  check(csv.split('\r\n').length === 736 + 2, 'CSV has the rows: ' + csv.split('\r\n').length);
  const coming = event('Browser.downloadWillBegin');
  await ask('Browser.setDownloadBehavior', {behavior: 'deny', eventsEnabled: true});
  await run(`document.querySelector('[id="use.users"] [data-do=csv]').click()`);
  check((await coming).suggestedFilename === 'use.users.csv', 'CSV is offered as a file');
  await load('#all');
  const picture = event('Browser.downloadWillBegin');
  await run(`document.querySelector('[id="use.users"] [data-do=png]').click()`);
  check((await picture).suggestedFilename === 'use.users.png', 'PNG is offered as a file');
}
async function check_widths() {
  for (const width of [360, 768, 1440, 3840]) {
    await size(width, 900);
    await load('#all');
    await settle();
    const wide = await run('document.documentElement.scrollWidth');
    check(wide <= width, `the page is ${wide} wide on a screen of ${width}: ` + await run(`[...document.querySelectorAll('body *')].filter((one) =>
      one.getBoundingClientRect().right > ${width} && !one.closest('.scroll, pre, svg')).map((one) => one.tagName + '.' + one.className).slice(-3).join(' ')`));
    await checkDrawn(`${width} wide`);
    await picture('w' + width);
    if (pictures) for (const id of ['systatus.summary', 'systatus.use', 'systatus.months', 'use.users', 'use.panels', 'use.wait_apps', 'use.week', 'appfeature.radar', 'appfeature.size']) if (width === 360) await picture('w360-' + id, `[id="${id}"]`);
  }
}
async function check_languages() {
  if (given) return;
  for (const language of ['zh', 'ru']) {
    page = join(folder, language + '.html');
    make(language);
    await size(360, 900);
    await load('#all');
    const wide = await run('document.documentElement.scrollWidth');
    check(wide <= 360, `the page in ${language} is ${wide} wide on a screen of 360`);
    await checkDrawn(language);
    check(await run('document.documentElement.lang') === language, 'the page says that it is in ' + language);
    await picture(language + '360');
    await size(1440, 900);
    await settle();
    await picture(language, null, 4000);
    for (const id of ['use.users', 'use.week', 'use.wait']) await picture(language + '-' + id, `[id="${id}"]`);
  }
  page = join(folder, 'page.html');
}
async function check_paper() {
  await size(1440, 900);
  await theme('dark');
  await load();
  const {data} = await ask('Page.printToPDF', {preferCSSPageSize: true, printBackground: true});
  const pdf = Buffer.from(data, 'base64'), pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  check(pages >= 5, `paper has ${pages} pages`);
  check(await run('sickbayReport.charts()') + await run(`document.querySelectorAll('.chart[hidden]').length`) === await run('sickbayReport.places()'), 'all charts are made before printing');
  check(await run(`getComputedStyle(document.body).backgroundColor`) === 'rgb(16, 22, 29)', 'and it is dark again after it');
  if (pictures) writeFileSync(join(pictures, 'paper.pdf'), pdf);
  await theme('light');
}
async function check_without_script() {
  await ask('Emulation.setScriptExecutionDisabled', {value: true});
  await load();
  await ask('Emulation.setScriptExecutionDisabled', {value: false});
  check(await run(`[...document.querySelectorAll('.chart, .needs-js')].every((one) => getComputedStyle(one).display === 'none')`), 'without JavaScript no empty places stand around');
  check(await run(`document.querySelectorAll('.report td').length`) > 20, 'without JavaScript the tables are there');
  await picture('no-script');
}

try {
  const {targetInfos} = await ask('Target.getTargets');
  const target = targetInfos.find((one) => one.type === 'page');
  session = (await ask('Target.attachToTarget', {targetId: target.targetId, flatten: true})).sessionId;
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await ask(domain + '.enable');
  for (const one of [check_light, check_tooltips, check_dark, check_tables, check_widths, check_languages, check_paper, check_without_script]) await one();
  for (const {method, params} of heard) {
    if (method === 'Runtime.exceptionThrown') check(false, 'exception: ' + (params.exceptionDetails.exception?.description ?? params.exceptionDetails.text));
    if (method === 'Runtime.consoleAPICalled' && params.type !== 'log') check(false, 'console: ' + params.args.map((arg) => arg.value ?? arg.description).join(' '));
    if (method === 'Log.entryAdded') check(false, 'log: ' + params.entry.text);
    if (method === 'Network.requestWillBeSent' && !/^(data:|blob:|about:)/.test(params.request.url) && !/^(page|zh|ru)\.html$/.test(params.request.url.split('#')[0].split('/').at(-1)) && params.request.url.split('#')[0] !== pathToFileURL(page).href)
      check(false, 'request: ' + params.request.url);
  }
} catch (error) {
  check(false, error.stack);
} finally {
  const gone = new Promise((done) => browser.on('exit', done));
  browser.kill('SIGKILL');
  await gone;
  rmSync(folder, {recursive: true, force: true, maxRetries: 5});
}
console.log(wrong.length ? `browser: ${wrong.length} things are wrong` : 'browser: good');
process.exit(wrong.length ? 1 : 0);
