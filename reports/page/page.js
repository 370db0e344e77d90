// SPDX-License-Identifier: Apache-2.0
// The living half of the HTML report: draws the charts, sorts tables, hands out CSV and PNG.
//
// Text and tables are in the page already (render_html.cc), so all this may fail and the report is still readable.
// Each report carries its rows as JSON in a <script class="data">; a chart is made when it comes near the window, all
// are made before printing or for page.html#all.  Names come from logs, that is from anybody: they are only ever set
// as textContent or drawn by ECharts as SVG text, never put together to HTML.
(() => {
'use strict';
const root = document.documentElement;
const words = JSON.parse(document.getElementById('words').textContent);
/** The text of `key` with its {} filled in order. */
const say = (key, ...values) => { let i = 0; return (words[key] ?? key).replace(/\{\}/g, () => values[i++] ?? ''); };
root.classList.add('js');

// ---------------------------------------------------------------- figures

const kGroup = words['number.thousands'] ?? ',', kPoint = words['number.decimal'] ?? '.';

/** "12,345.7": a number with `digits` behind the point, zeros at the end cut off. */
function plain(value, digits) {
  let [whole, rest] = Math.abs(value).toFixed(digits).split('.');
  whole = whole.replace(/\B(?=(\d{3})+$)/g, kGroup);
  rest = (rest ?? '').replace(/0+$/, '');
  const sign = value < 0 && Number(value.toFixed(digits)) !== 0 ? '\u2212' : '';
  return sign + whole + (rest ? kPoint + rest : '');
}
/** As many digits as one wants to read: three that count, all of those before the point. */
function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '\u2013';
  const size = Math.abs(value);
  if (Number.isInteger(value)) return plain(value, 0);
  if (size >= 1000) return plain(value, 0);
  if (size === 0) return '0';
  return plain(value, Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size)))));
}
const kSizes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
/** How the ticks of an axis up to `most` are written: "1.2 M", all in the same unit; each its own with most = 0. */
const short = (most) => (value) => {
  if (value === 0) return '0';
  const [unit, letter] = kSizes.find(([size]) => (most || Math.abs(value)) >= size && (size !== 1e3 || (most || Math.abs(value)) >= 1e4)) ?? [1, ''];
  return unit === 1 ? figure(value) : plain(value / unit, 3) + '\u00a0' + letter;
};
const kTimes = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
/** Seconds as people say them: "3 d 4 h", "12 min 5 s", "0.4 s". */
function duration(seconds) {
  if (!Number.isFinite(seconds)) return '\u2013';
  if (Math.abs(seconds) < 60) return figure(seconds) + '\u00a0' + say('page.s');
  const whole = Math.round(Math.abs(seconds)), at = kTimes.findIndex(([, size]) => whole >= size);
  const [name, size] = kTimes[at], [name2, size2] = kTimes[at + 1];
  const second = Math.floor(whole % size / size2);
  return (seconds < 0 ? '\u2212' : '') + plain(Math.floor(whole / size), 0) + '\u00a0' + say('page.' + name) +
      (second ? ' ' + second + '\u00a0' + say('page.' + name2) : '');
}
const two = (n) => String(n).padStart(2, '0');
/** Milliseconds, in the zone that the SQL chose, as "2021-05", "2021-05-01" or "2021-05-01 10:00". */
function date(ms, grain) {
  const d = new Date(ms);
  if (Number.isNaN(d.getTime())) return '\u2013';
  const month = d.getUTCFullYear() + '-' + two(d.getUTCMonth() + 1);
  if (grain === 'month') return month;
  const day = month + '-' + two(d.getUTCDate());
  return grain === 'day' ? day : day + ' ' + two(d.getUTCHours()) + ':' + two(d.getUTCMinutes());
}
/** A value of `column` as a label: what is a word of the report, and no name of the log, in the page's language. */
function text(value, column) {
  if (value === null || value === undefined) return say('page.unknown');
  if (typeof value === 'string' && column.words && Object.hasOwn(column.words, value)) return column.words[value];
  if (column.type === 'time') return date(value, column.grain);
  if (column.type === 'boolean') return say(value ? 'page.yes' : 'page.no');
  if (/(^|_)(weekday|dayofweek|isodow|dow)$/.test(column.name) && Number.isInteger(value)) return say('page.weekday.' + ((value + 6) % 7 + 1));
  return typeof value === 'number' ? (column.unit ? figure(value) : String(value)) : String(value);
}
/** A figure of `column` with its unit. */
function amount(value, column) {
  if (value === null || value === undefined) return say('page.unknown');
  if (typeof value !== 'number' || column.type === 'time') return text(value, column);
  if (column.unit === 's') return duration(value);
  if (column.unit === '%') return figure(value) + '\u00a0%';
  return figure(value) + (column.unitText && column.unit !== 'ratio' && column.unit !== 'count' ? '\u00a0' + column.unitText : '');
}
/** Names that the eye cannot take in are cut; the tooltip has the whole. */
const cut = (name, most) => { const signs = [...name]; return signs.length > most ? signs.slice(0, most - 1).join('') + '\u2026' : name; };

// ---------------------------------------------------------------- colours

// Told apart with any colour vision: two of a set differ by at least 12 in CIE Lab as seen with protanopia,
// deuteranopia and tritanopia (Machado et al. 2009), the first three by 19.
const kLight = {
  series: ['#0b62a4', '#d97706', '#3fae8e', '#8c2458', '#93d0f2', '#54361c', '#d6cc3f', '#f2b8d2', '#6f7a85'],
  text: '#1b2530', soft: '#55626f', line: '#e3e8ed', strong: '#9aa7b3', card: '#ffffff', warn: '#b3261e',
  scale: ['#f1f5f9', '#c6dcee', '#82b6dc', '#3d86bf', '#0b5a97', '#08335a'],
};
const kDark = {
  series: ['#5aaae8', '#f0a03c', '#2a8f70', '#ee7fb4', '#c9ecff', '#7d5fd8', '#ede684', '#a65a2e', '#6d7a87'],
  text: '#e4eaf0', soft: '#a3b1be', line: '#2b3947', strong: '#5b6b79', card: '#18212b', warn: '#ff9a8f',
  scale: ['#1f2b37', '#1d4566', '#2468a0', '#3f93d2', '#86c3f0', '#e3f3ff'],
};
const darkAsked = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === 'dark' : darkAsked.matches);

// ---------------------------------------------------------------- what every chart has

const kAllOthers = '(all others)';  // a name that a report gives to the sum of what it does not name
const kMost = 30, kGroups = 8;  // bars, and series of a group, that one can still tell apart
const gauge = document.createElement('canvas').getContext('2d');
const kFont = getComputedStyle(document.body).fontFamily;
// Where the page's letters are larger, so are the charts'.
const kScale = parseFloat(getComputedStyle(root).fontSize) / 16, kSize = Math.round(12 * Math.max(1, kScale)), kLeft = Math.round(62 * Math.max(1, kScale));
function wide(label) { gauge.font = kSize + 'px ' + kFont; return gauge.measureText(label).width; }
const widest = (labels) => labels.reduce((most, label) => Math.max(most, wide(label)), 0);

/** One more sentence below the chart. */
function alsoSay(report, ...words) { report.note = [report.note, say(...words)].filter(Boolean).join(' '); }

/** The columns that an option names; a name that is no column makes the chart impossible, and says so. */
function columnsOf(report, option, needed = true) {
  const names = (report.options[option] ?? '').split(',').map((name) => name.trim()).filter(Boolean);
  const found = names.map((name) => report.columns.findIndex((column) => column.name === name));
  const missing = names.find((_, i) => found[i] < 0);
  if (missing !== undefined || (needed && !found.length)) throw new Error(option + '=' + (missing ?? ''));
  return found;
}
const titleOf = (column) => column.label + (column.unitText && !['ratio', 'count'].includes(column.unit) && !column.label.toLowerCase().includes(column.unitText.toLowerCase()) ? ' (' + column.unitText + ')' : '');

/** A tooltip as nodes: a head, and lines of [colour, label, figure]. */
function tip(head, lines) {
  const box = document.createElement('div');
  box.className = 'tip';
  const add = (parent, kind, content) => { const node = document.createElement(kind); node.textContent = content; parent.append(node); return node; };
  add(box, 'b', head);
  for (const [colour, label, value] of lines) {
    const line = add(box, 'div', '');
    if (colour) add(line, 'i', '').style.background = colour;
    add(line, 'span', label);
    add(line, 'em', value);
  }
  return box;
}
function common(paint, extra) {
  return {
    animation: false, backgroundColor: 'transparent', color: paint.series, aria: {enabled: false},
    textStyle: {fontFamily: kFont, color: paint.text},
    tooltip: {confine: true, backgroundColor: paint.card, borderColor: paint.strong, textStyle: {color: paint.text, fontSize: 13},
              extraCssText: 'white-space:normal;box-shadow:0 4px 16px rgb(0 0 0/18%)', ...extra},
  };
}
const legend = (paint, names, more) => ({
  type: 'scroll', top: 0, left: 0, itemWidth: 14, itemHeight: 10, itemGap: 14, icon: 'roundRect', textStyle: {color: paint.text, fontSize: kSize},
  pageIconColor: paint.soft, pageIconInactiveColor: paint.line, pageTextStyle: {color: paint.soft},
  formatter: (name) => cut(name, 28), tooltip: {show: false}, data: names, inactiveColor: paint.strong, ...more,
});

/** Round steps for a linear axis of seconds, in the unit that its largest value is told in. */
function timeSteps(most) {
  const [name, size] = kTimes.find(([, one]) => most >= 2 * one) ?? kTimes[3];
  const rough = most / size / 5, ten = 10 ** Math.floor(Math.log10(rough || 1));
  const step = Math.max((size === 1 || size === 86400 ? [1, 2, 5, 10] : [1, 2, 3, 6, 12, 24, 60, 120]).map((n) => size === 1 || size === 86400 ? n * ten : n)
      .find((n) => n >= rough) ?? Math.ceil(rough), size === 1 ? 0 : 1e-9);
  return {interval: step * size, label: (value) => plain(value / size, 2) + '\u00a0' + say('page.' + name)};
}
const kLogTimes = [1, 10, 60, 600, 3600, 18000, 86400, 864000, 8640000, 86400000];

/** An axis of figures.  `values` decide its ends; `column` its name and unit. */
function figureAxis(paint, column, values, {log = false, name = true, splits = 5} = {}) {
  const held = values.filter((value) => Number.isFinite(value));
  const most = held.reduce((a, b) => Math.max(a, b), -Infinity), least = held.reduce((a, b) => Math.min(a, b), Infinity);
  const axis = {
    type: log ? 'log' : 'value', splitNumber: splits, name: name ? titleOf(column) : '', nameTextStyle: {color: paint.soft, fontSize: kSize},
    axisLabel: {color: paint.soft, fontSize: kSize, formatter: short(log ? 0 : most), hideOverlap: true}, axisLine: {show: false}, axisTick: {show: false},
    splitLine: {lineStyle: {color: paint.line}},
  };
  if (log) {
    const over = held.filter((value) => value > 0);
    const low = over.reduce((a, b) => Math.min(a, b), Infinity), high = over.reduce((a, b) => Math.max(a, b), 0);
    if (!over.length || high <= low * 10) return figureAxis(paint, column, values, {name, splits});  // a straight axis shows as much
    axis.min = 10 ** Math.floor(Math.log10(low));
    axis.max = 10 ** Math.ceil(Math.log10(high));
    if (axis.max <= axis.min) axis.max = axis.min * 10;
    if (column.unit === 's') {
      axis.name = name ? column.label : '';
      axis.min = kLogTimes.filter((tick) => tick <= low).at(-1) ?? axis.min;
      const ticks = kLogTimes.filter((tick) => tick >= axis.min && tick <= high * 3);
      if (ticks.length > 1) {
        axis.axisLabel.customValues = ticks;
        axis.max = Math.max(ticks.at(-1), high * 1.1);
        axis.axisTick = {show: false, customValues: ticks};
      }
      axis.axisLabel.formatter = (value) => duration(value);
    }
    return axis;
  }
  if (column.unit === 's' && most > 0) {
    const {interval, label} = timeSteps(most);
    axis.interval = interval;
    axis.axisLabel.formatter = label;
    axis.max = Math.ceil(most / interval) * interval;
  } else if (column.unit === '%' && least >= 0 && most > 55 && most < 100.01) {
    axis.max = 100;
    axis.interval = splits > 3 ? 20 : 50;
  } else if (held.every(Number.isInteger)) {
    axis.minInterval = 1;
  }
  if (column.unit === 's') axis.name = name ? column.label : '';
  return axis;
}
const isTime = (column) => column.type === 'time';
const kDay = 86400000;
/** Ticks on the first of months, on Mondays or on days, as many as fit side by side. */
function timeTicks(times, width, grain) {
  const from = times[0], to = times.at(-1), days = (to - from) / kDay, most = Math.max(2, Math.floor(width / 82));
  if (!(days >= 3)) return null;  // hours are left to ECharts
  const ticks = [], day = grain !== 'month' && [1, 2, 7, 14].find((step) => days / step <= most);
  if (day) {
    // 1970-01-05 was a Monday.
    for (let at = Math.ceil((from - 4 * kDay) / (day * kDay)) * day * kDay + 4 * kDay; at <= to; at += day * kDay) ticks.push(at);
    return {ticks, label: (ms) => date(ms, 'day').slice(ms === ticks[0] ? 0 : 5)};  // the first says the year
  }
  const months = days / 30.4, step = [1, 2, 3, 6, 12, 24, 60].find((one) => months / one <= most) ?? 120, begin = new Date(from);
  for (let month = Math.ceil((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / step) * step; ; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (at > to) break;
    if (at >= from) ticks.push(at);
  }
  return {ticks, label: (ms) => date(ms, 'month')};
}
function timeAxis(paint, times, width, grain) {
  const axis = plainTimeAxis(paint), own = timeTicks(times, width, grain);
  if (own?.ticks.length > 1) {
    // A label at the end of the axis would be cut in half.
    const begins = Math.min(...times), ends = Math.max(...times), beside = ((ends - own.ticks.at(-1)) / Math.max(ends - begins, 1)) * width;
    axis.axisLabel = {...axis.axisLabel, customValues: own.ticks, formatter: own.label, ...(beside < 24 ? {alignMaxLabel: 'right'} : {})};
    axis.axisTick = {...axis.axisTick, customValues: own.ticks};
  }
  return axis;
}
const plainTimeAxis = (paint) => ({
  type: 'time', axisLine: {lineStyle: {color: paint.strong}}, axisTick: {lineStyle: {color: paint.strong}},
  axisLabel: {color: paint.soft, fontSize: kSize, hideOverlap: true,
              formatter: {year: '{yyyy}', month: '{yyyy}-{MM}', day: '{MM}-{dd}', hour: '{HH}:{mm}', minute: '{HH}:{mm}'}},
  splitLine: {show: false},
});
/** `label` in lines of at most `room`, broken at blanks and between Chinese signs; null where a word is longer. */
function folded(label, room) {
  const lines = [''];
  for (const piece of label.match(/[\u2e80-\uffff]|[^\s\u2e80-\uffff]+\s*/g) ?? [label]) {
    if (wide(piece.trimEnd()) > room) return null;
    if (wide((lines.at(-1) + piece).trimEnd()) <= room) lines[lines.length - 1] += piece; else lines.push(piece);
  }
  return lines.map((line) => line.trim());
}
/** The axis of names under a chart: in lines, or turned and cut where they would not stand side by side. */
function nameAxis(paint, labels, width, {name = ''} = {}) {
  const each = width / Math.max(1, labels.length), need = widest(labels) + 10;
  const fits = need <= each, ordered = labels.every((label) => /^[\d:.\-\u2013 <>=≤≥+]+$/.test(label));
  const axis = {
    type: 'category', data: labels, axisLine: {lineStyle: {color: paint.strong}}, axisTick: {show: false},
    name, nameLocation: 'middle', nameTextStyle: {color: paint.soft, fontSize: kSize},
    axisLabel: {color: paint.soft, fontSize: kSize, interval: 0, width: Math.max(110, each), overflow: 'truncate', ellipsis: '\u2026'},
  };
  let height = 24;
  const lines = fits || labels.length > 12 ? null : labels.map((label) => folded(label, each - 8));
  if (lines?.every((one) => one && one.length <= 3)) {
    axis.axisLabel.formatter = (_, i) => lines[i].join('\n');
    height += (lines.reduce((most, one) => Math.max(most, one.length), 1) - 1) * (kSize + 3);
  } else if (!fits && ordered && labels.length > 12) {
    axis.axisLabel.interval = Math.ceil(need / each) - 1;
  } else if (!fits) {
    axis.axisLabel.rotate = each < 26 ? 60 : 40;
    height = Math.min(120, need) * (each < 26 ? 0.87 : 0.65) + 18;
    if (each < 14) axis.axisLabel.interval = Math.ceil(14 / each) - 1;
  }
  axis.nameGap = height + 4;
  return {axis, height: height + (name ? 20 : 0)};
}

// ---------------------------------------------------------------- rows to series

/** Values of `column` in the order that it has of itself (classes of size and time); others stay behind these. */
function inOrder(list, column, valueOf = (one) => one) {
  if (!column.order) return list;
  const at = new Map(column.order.map((value, i) => [value, i])), place = (one) => at.get(valueOf(one)) ?? Infinity;
  return list.map((one, i) => [one, i]).sort(([a, i], [b, j]) => (place(a) === place(b) ? i - j : place(a) - place(b))).map(([one]) => one);
}
/** How far apart the times of a column lie: in days, or months; more than one where all are, as weeks and quarters. */
function stepOf(times, {name, grain}) {
  if (/day|month/.test(name)) return 1;
  const months = (ms) => { const d = new Date(ms); return d.getUTCFullYear() * 12 + d.getUTCMonth(); };
  const common = (a, b) => (b ? common(b, a % b) : a);
  const apart = times.slice(1).map((time, i) => (grain === 'month' ? months(time) - months(times[i]) : Math.round((time - times[i]) / kDay)));
  return apart.reduce(common, 0) || 1;
}
/** All times, in their steps, from the first to the last, so that those without a job are seen; too many stay as they are. */
function withGaps(times, column, most) {
  const all = [], end = times.at(-1), months = column.grain === 'month', step = stepOf(times, column);
  if (times.length < 2 || (months ? 30 : 1) * step * kDay * (most + 1) < end - times[0]) return times;
  for (let at = new Date(times[0]); at <= end; months ? at.setUTCMonth(at.getUTCMonth() + step) : at.setUTCDate(at.getUTCDate() + step)) all.push(at.getTime());
  const known = new Set(all);
  return times.every((time) => known.has(time)) ? all : times;
}
/** How a row is found on the axis of names: its x, with its kind (suffix=) behind it where names of several kinds stand together. */
function namesOf(report) {
  const [x] = columnsOf(report, 'x'), [kind] = columnsOf(report, 'suffix', false), column = report.columns[x];
  // Where all are of one kind it need not be said.
  if (kind === undefined || new Set(report.rows.map((row) => row[kind])).size < 2) return {column, keyOf: (row) => row[x]};
  const label = (row) => { const name = text(row[x], column); return String(row[x]).startsWith('(') ? name : cut(name, 40) + ' (' + text(row[kind], report.columns[kind]) + ')'; };
  return {column: {...column, type: 'text', words: undefined, order: undefined}, keyOf: label};
}
const sum = (list) => list.reduce((a, b) => a + (Number.isFinite(b) ? b : 0), 0);

/** x, and series of y: one for each y column, or one for each value of the group column (the largest, and the rest). */
function seriesOf(report, {merge = true, gaps = 0} = {}) {
  const {column: xColumn, keyOf} = namesOf(report), ys = columnsOf(report, 'y'), [group] = columnsOf(report, 'group', false);
  const number = (value) => (typeof value === 'number' ? value : null);
  let keys = [...new Set(report.rows.map(keyOf))];
  if (isTime(xColumn) || keys.every((key) => typeof key === 'number')) {
    keys.sort((a, b) => a - b);
    if (gaps && xColumn.grain && keys[0] !== null) keys = withGaps(keys, xColumn, gaps);
  } else {
    keys = inOrder(keys, xColumn);
    if (report.options.largest && keys.length > kMost * 1.2) {
      // The order of the rows (a tree's) stays; who is drawn is chosen by size.
      const size = new Map(report.rows.map((row) => [keyOf(row), number(row[ys[0]]) ?? -Infinity]));
      const kept = new Set([...keys].sort((a, b) => size.get(b) - size.get(a)).slice(0, kMost));
      report.note = say('page.largest', kMost, plain(Math.max(keys.length, report.total), 0));
      keys = keys.filter((key) => kept.has(key));
    }
  }
  const place = new Map(keys.map((key, i) => [key, i]));
  const series = [];
  if (group === undefined) {
    for (const y of ys) {
      const data = keys.map(() => null);
      for (const row of report.rows)
        if (place.has(keyOf(row))) data[place.get(keyOf(row))] = number(row[y]);
      series.push({name: report.columns[y].label, column: report.columns[y], data});
    }
  } else {
    const of = new Map();
    for (const row of report.rows) {
      if (!place.has(keyOf(row))) continue;
      const name = text(row[group], report.columns[group]);
      if (!of.has(name)) of.set(name, {name, value: row[group], data: keys.map(() => null), column: report.columns[ys[0]]});
      const {data} = of.get(name), at = place.get(keyOf(row)), value = number(row[ys[0]]);
      if (value !== null) data[at] = (data[at] ?? 0) + value;
    }
    let groups = inOrder([...of.values()], report.columns[group], (one) => one.value);
    // What the report itself has added up is no name: it stands behind the names, with what is added up here.
    const added = groups.find((one) => one.value === kAllOthers);
    if (added) groups = [...groups.filter((one) => one !== added), {...added, rest: true}];
    if (groups.length > kGroups + 1) {
      const bySize = groups.filter((one) => !one.rest).sort((a, b) => sum(b.data) - sum(a.data)), kept = new Set(bySize.slice(0, kGroups));
      const rest = groups.filter((one) => !kept.has(one));
      groups = groups.filter((one) => kept.has(one));
      // Sums can be added up; shares, medians and the like cannot, so of these the rest is only in the table.
      if (merge && !['%', 'ratio', 's', 'GiB/s'].includes(report.columns[ys[0]].unit)) {
        groups.push({name: added ? added.name : say('page.other', rest.length), column: report.columns[ys[0]], rest: true,
                     data: keys.map((_, i) => (rest.some((one) => one.data[i] !== null) ? sum(rest.map((one) => one.data[i])) : null))});
      } else {
        report.note = say('page.groups_cut', kGroups, kGroups + rest.length);
      }
    }
    series.push(...groups);
  }
  // A figure that the log does not have is named, not drawn as nothing.
  const known = series.filter((one) => one.data.some((value) => value !== null)), unknown = series.filter((one) => !known.includes(one));
  if (unknown.length) report.note = say(known.length ? 'page.unknown_series' : 'page.no_figures', unknown.map((one) => one.name).join(', '));
  // Where each x belongs to one group, its bar stands alone and takes the whole place.
  const alone = group !== undefined && keys.every((_, i) => known.filter((one) => one.data[i] !== null).length <= 1);
  return {keys, xColumn, series: known, grouped: group !== undefined, alone};
}
/** The first that one can tell apart; the rest is in the table. */
function firstFew(report, keys, most, xColumn) {
  if (keys.length <= most * 1.2 || isTime(xColumn) || keys.every((key) => typeof key === 'number')) return keys.length;
  report.note = say('page.top', most, plain(Math.max(keys.length, report.columns.length && !report.options.group ? report.total : 0), 0));
  return most;
}
/** Figures of different units do not share an axis: one panel for each unit. */
function panelsOf(series) {
  const panels = [];
  for (const one of series) {
    const panel = panels.find((other) => other[0].column.unit === one.column.unit);
    if (panel) panel.push(one); else panels.push([one]);
  }
  return panels;
}
/** The ends of an axis that stacks: the sums of what lies on each other. */
function reach(panel, count, stacked) {
  if (!stacked) return panel.flatMap((one) => one.data.slice(0, count));
  return Array.from({length: count}, (_, i) => sum(panel.map((one) => one.data[i])));
}
function axisTip(labels, series, paint) {
  return (list) => {
    const points = (Array.isArray(list) ? list : [list]).filter((point) => point.seriesId !== 'below');
    if (!points.length) return '';
    const at = points[0].dataIndex, lines = points.map((point) => {
      const one = series[Number(point.seriesId)];
      return one && one.data[at] !== null && one.data[at] !== undefined ? [point.color, one.name, amount(one.data[at], one.column)] : null;
    }).filter(Boolean);
    return tip(labels[at], lines.length ? lines : [[paint.strong, say('page.unknown'), '']]);
  };
}
const colourOf = (paint, i, one) => (one?.rest ? paint.series[8] : paint.series[i % 8]);

// ---------------------------------------------------------------- the kinds

/** On a log axis a bar's length says nothing, for it has no 0 to begin at: there each figure is a point, beside those of the other series. */
function pointed(series, at, count, upright) {
  const shift = (at - (count - 1) / 2) * 11;
  return {...series, type: 'scatter', stack: undefined, symbol: 'circle', symbolSize: 9, symbolOffset: upright ? [shift, 0] : [0, shift],
          itemStyle: {color: series.itemStyle.color}};
}

function bars(report, width, paint) {
  const {keys, xColumn, series, grouped, alone} = seriesOf(report, {gaps: width < 480 ? 15 : 62});
  const most = firstFew(report, keys, width < 480 ? 15 : kMost, xColumn), labels = keys.slice(0, most).map((key) => text(key, xColumn));
  const stacked = /^(yes|true|1)$/.test(report.options.stacked ?? ''), log = (report.options.log ?? '').includes('y') && !stacked;
  const panels = panelsOf(series), top = series.length > 1 ? 32 : 4, left = kLeft, each = width < 480 ? 190 : panels.length > 1 ? 200 : 290;
  const {axis, height} = nameAxis(paint, labels, width - left - 12, {name: isTime(xColumn) ? '' : titleOf(xColumn)});
  const option = {...common(paint, {trigger: 'axis', axisPointer: {type: 'shadow'}}), grid: [], xAxis: [], yAxis: [], series: []};
  panels.forEach((panel, p) => {
    option.grid.push({left, right: 12, top: top + 26 + p * (each + 36), height: each, outerBoundsMode: 'none'});
    option.xAxis.push({...axis, gridIndex: p, name: p === panels.length - 1 ? axis.name : '', axisLabel: {...axis.axisLabel, show: p === panels.length - 1}});
    option.yAxis.push({...figureAxis(paint, panel[0].column, reach(panel, most, stacked), {log, splits: panels.length > 1 ? 3 : 5}), gridIndex: p});
    nameAbove(option.yAxis[p], left);
    if (panel.length > 1 && !grouped) option.yAxis[p].name = panel[0].column.unitText;
  });
  series.forEach((one, i) => {
    const p = panels.findIndex((panel) => panel.includes(one)), colour = series.length > 1 ? colourOf(paint, i, one) : paint.series[0];
    option.series.push({type: 'bar', id: String(i), name: one.name, xAxisIndex: p, yAxisIndex: p, stack: stacked ? 'all' + p : undefined, barMaxWidth: 46,
                        barGap: alone ? '-100%' : '8%', barCategoryGap: '28%', itemStyle: {color: colour, borderRadius: stacked ? 0 : [2, 2, 0, 0]},
                        data: one.data.slice(0, most).map((value) => (log && !(value > 0) ? null : value))});
    if (option.yAxis[p].type === 'log') option.series[i] = pointed(option.series[i], panels[p].indexOf(one), alone ? 1 : panels[p].length, true);
  });
  if (panels.length > 1) option.axisPointer = {link: [{xAxisIndex: 'all'}]};
  option.tooltip.formatter = axisTip(labels, series, paint);
  if (series.length > 1) option.legend = legend(paint, series.map((one) => one.name));
  return {option, height: top + 26 + panels.length * (each + 36) - 36 + height + 6};
}

/** The name of an upright axis stands above it, from the left edge, so that it needs no room beside the chart. */
function nameAbove(axis, left) {
  axis.nameLocation = 'end';
  axis.nameGap = 12;
  axis.nameTextStyle = {...axis.nameTextStyle, align: 'left', padding: [0, 0, 0, 4 - left]};
}

function hbars(report, width, paint) {
  const {keys, xColumn, series, grouped, alone} = seriesOf(report);
  const panels = panelsOf(series), most = firstFew(report, keys, width < 560 && panels.length > 1 ? 12 : kMost, xColumn);
  const labels = keys.slice(0, most).map((key) => text(key, xColumn));
  const stacked = /^(yes|true|1)$/.test(report.options.stacked ?? ''), log = /[xy]/.test(report.options.log ?? '') && !stacked;
  const sideBySide = width >= 560 || panels.length === 1;
  const left = Math.min(widest(labels) + 14, width * (panels.length > 1 && sideBySide ? 0.24 : 0.36), 230), gap = 46, right = 26;
  const across = sideBySide ? panels.length : 1, room = (width - left - right - gap * (across - 1)) / across;
  const thick = stacked || alone || grouped === false && panels.every((panel) => panel.length === 1) ? 22 : Math.max(22, 9 * Math.max(...panels.map((panel) => panel.length)) + 8);
  const body = labels.length * thick + 6, top = series.length > 1 ? 34 : 4, step = body + 58;
  const option = {...common(paint, {trigger: 'axis', axisPointer: {type: 'shadow'}}), grid: [], xAxis: [], yAxis: [], series: []};
  panels.forEach((panel, p) => {
    option.grid.push({left: sideBySide ? left + p * (room + gap) : left, width: room, top: sideBySide ? top : top + p * step, height: body, outerBoundsMode: 'none'});
    option.yAxis.push({type: 'category', inverse: true, gridIndex: p, data: labels, axisLine: {lineStyle: {color: paint.strong}}, axisTick: {show: false},
                       axisLabel: {show: p === 0 || !sideBySide, color: paint.text, fontSize: kSize, interval: 0, width: left - 12, overflow: 'truncate', ellipsis: '\u2026'}});
    const axis = figureAxis(paint, panel[0].column, reach(panel, most, stacked), {log, splits: room < 260 ? 2 : room < 420 ? 3 : 5});
    if (panel.length > 1 && !grouped) axis.name = panel[0].column.unitText;
    option.xAxis.push({...axis, gridIndex: p, nameLocation: 'middle', nameGap: 28});
  });
  series.forEach((one, i) => {
    const p = panels.findIndex((panel) => panel.includes(one)), colour = series.length > 1 ? colourOf(paint, i, one) : paint.series[0];
    option.series.push({type: 'bar', id: String(i), name: one.name, xAxisIndex: p, yAxisIndex: p, stack: stacked ? 'all' + p : undefined, barMaxWidth: 18, barGap: alone ? '-100%' : '8%',
                        barCategoryGap: '26%', itemStyle: {color: colour, borderRadius: stacked ? 0 : [0, 2, 2, 0]},
                        data: one.data.slice(0, most).map((value) => (log && !(value > 0) ? null : value))});
    if (option.xAxis[p].type === 'log') option.series[i] = pointed(option.series[i], panels[p].indexOf(one), alone ? 1 : panels[p].length, false);
  });
  if (panels.length > 1) option.axisPointer = {link: [{yAxisIndex: 'all'}]};
  option.tooltip.formatter = axisTip(labels, series, paint);
  if (series.length > 1) option.legend = legend(paint, series.map((one) => one.name));
  return {option, height: top + (sideBySide ? body + 52 : panels.length * step)};
}

function lines(report, width, paint) {
  const area = report.kind === 'stacked_area';
  const {keys, xColumn, series} = seriesOf(report, {merge: true, gaps: 4000});
  if (keys.length === 1 && !area) return bars(report, width, paint);  // a lone point is no line
  const labels = keys.map((key) => text(key, xColumn)), time = isTime(xColumn);
  const panels = area ? [series] : panelsOf(series), top = series.length > 1 ? 32 : 4, left = kLeft;
  const each = width < 480 ? 180 : panels.length > 1 ? 180 : 270, log = (report.options.log ?? '').includes('y') && !area;
  const mark = report.options.mark === undefined ? NaN : Number(report.options.mark);
  // Which series the mark is of: the first, where the head names none.
  const [markOf] = columnsOf(report, 'mark_of', false), marked = Math.max(0, series.findIndex((one) => one.column === report.columns[markOf]));
  const names = time ? {axis: timeAxis(paint, keys, width - left - 20, xColumn.grain), height: 24} : nameAxis(paint, labels, width - left - 20, {name: typeof keys[0] === 'number' ? titleOf(xColumn) : ''});
  const option = {...common(paint, {trigger: 'axis'}), grid: [], xAxis: [], yAxis: [], series: [], useUTC: true};
  panels.forEach((panel, p) => {
    const last = p === panels.length - 1;
    option.grid.push({left, right: 20, top: top + 26 + p * (each + 40), height: each, outerBoundsMode: 'none'});
    option.xAxis.push({...names.axis, boundaryGap: false, gridIndex: p, axisLabel: {...names.axis.axisLabel, show: last || time}});
    const ends = reach(panel, keys.length, area);
    if (panel.includes(series[marked]) && Number.isFinite(mark)) ends.push(mark);
    option.yAxis.push({...figureAxis(paint, panel[0].column, ends, {log, splits: panels.length > 1 ? 3 : 5}), gridIndex: p});
    nameAbove(option.yAxis[p], left);
    if (panel.length > 1 && !report.options.group) option.yAxis[p].name = panel[0].column.unit === '%' ? '%' : panel[0].column.unitText;
  });
  series.forEach((one, i) => {
    const p = panels.findIndex((panel) => panel.includes(one)), colour = series.length > 1 ? colourOf(paint, i, one) : paint.series[0];
    const line = {
      type: 'line', id: String(i), name: one.name, xAxisIndex: p, yAxisIndex: p, color: colour, symbol: 'circle', symbolSize: 5,
      showSymbol: keys.length <= 40 && !area, lineStyle: {width: area ? 0.8 : keys.length > 400 ? 1.2 : 1.8, color: colour}, itemStyle: {color: colour},
      areaStyle: area ? {color: colour, opacity: 0.8} : undefined, stack: area ? 'all' : undefined, emphasis: {disabled: true},
      data: one.data.map((value, k) => { const held = area ? value ?? 0 : log && !(value > 0) ? null : value; return time ? [keys[k], held] : held; }),
    };
    // A line is drawn between neighbours; where it begins or ends at a gap there is a point, so that none is lost.
    if (!area && keys.length > 40) {
      const none = (k) => one.data[k] === null, lonely = one.data.map((value, k) => value !== null && (none(k - 1) || none(k + 1)));
      if (lonely.includes(true)) Object.assign(line, {showSymbol: true, showAllSymbol: true, symbol: 'none', data: line.data.map((value, k) => (lonely[k] ? {value, symbol: 'circle', symbolSize: 4} : value))});
    }
    if (!area && series.length === 1 && !Number.isFinite(mark) && !log) line.areaStyle = {color: colour, opacity: 0.08};
    if (i === marked && Number.isFinite(mark)) {
      line.markLine = {silent: true, symbol: 'none', lineStyle: {color: paint.warn, type: 'dashed', width: 1.2}, data: [{yAxis: mark}],
                       label: {position: 'insideEndTop', color: paint.warn, fontSize: kSize, formatter: () => amount(mark, one.column)}};
      const below = one.data.map((value, k) => (value !== null && value < mark ? (time ? [keys[k], value] : [k, value]) : null)).filter(Boolean);
      if (below.length) {
        option.series.push({type: 'scatter', id: 'below', name: say('page.below', amount(mark, one.column)), xAxisIndex: p, yAxisIndex: p, symbol: 'triangle', symbolRotate: 180,
                            symbolSize: below.length > 60 ? 5 : 8, itemStyle: {color: paint.warn}, z: 5, data: below, tooltip: {show: false}});
        report.note = say('page.below_count', plain(below.length, 0), plain(one.data.filter((value) => value !== null).length, 0), amount(mark, one.column));
      }
    }
    option.series.push(line);
  });
  if (panels.length > 1) option.axisPointer = {link: [{xAxisIndex: 'all'}]};
  option.tooltip.formatter = axisTip(labels, series, paint);
  if (series.length > 1) option.legend = legend(paint, series.map((one) => one.name));
  return {option, height: top + 26 + panels.length * (each + 40) - 40 + names.height + 8};
}

function pareto(report, width, paint) {
  const [x] = columnsOf(report, 'x'), [y] = columnsOf(report, 'y'), [share] = columnsOf(report, 'share', false), column = report.columns[y];
  const rows = report.rows.filter((row) => typeof row[y] === 'number').sort((a, b) => b[y] - a[y]);
  const all = report.sums?.[y] ?? sum(rows.map((row) => row[y])), most = Math.min(rows.length, width < 480 ? 12 : kMost);
  if (most < rows.length) report.note = say('page.top', most, plain(report.total, 0));
  let so = 0;
  const shown = rows.slice(0, most), labels = shown.map((row) => text(row[x], report.columns[x]));
  // Where the SQL gives the first rows only, it says their shares of the whole.
  const part = (row) => (share === undefined ? (all > 0 ? row[y] / all * 100 : null) : row[share]);
  const shares = shown.map((row) => { so += part(row) ?? 0; return all > 0 ? Math.min(so, 100) : null; });
  const left = kLeft, right = 52, {axis, height} = nameAxis(paint, labels, width - left - right, {name: titleOf(report.columns[x])}), body = width < 480 ? 190 : 270;
  const option = {
    ...common(paint, {trigger: 'axis', axisPointer: {type: 'shadow'}}), grid: {left, right, top: 58, height: body, outerBoundsMode: 'none'}, xAxis: axis,
    yAxis: [figureAxis(paint, column, shown.map((row) => row[y])),
            {type: 'value', min: 0, max: 100, interval: 20, axisLabel: {color: paint.soft, fontSize: kSize, formatter: (value) => value + '\u00a0%'},
             splitLine: {show: false}, axisLine: {show: false}, axisTick: {show: false}}],
    series: [{type: 'bar', name: column.label, data: shown.map((row) => row[y]), barMaxWidth: 46, barCategoryGap: '22%', itemStyle: {color: paint.series[0], borderRadius: [2, 2, 0, 0]}},
             {type: 'line', name: say('page.cumulated'), yAxisIndex: 1, data: shares, symbol: 'circle', symbolSize: 5, lineStyle: {color: paint.series[1], width: 1.8},
              itemStyle: {color: paint.series[1]}, emphasis: {disabled: true}}],
    legend: legend(paint, [column.label, say('page.cumulated')]),
  };
  nameAbove(option.yAxis[0], left);
  option.tooltip.formatter = (points) => {
    const at = points[0].dataIndex;
    return tip(labels[at], [[paint.series[0], column.label, amount(shown[at][y], column)],
                            ['', say('page.share'), all > 0 ? figure(part(shown[at])) + '\u00a0%' : '\u2013'],
                            [paint.series[1], say('page.cumulated'), figure(shares[at]) + '\u00a0%']]);
  };
  return {option, height: 58 + body + height + 6};
}

/** "Cores" of "Cores p5" and "Cores p25": what all of them begin with, by whole words; '' where that is nothing. */
function sharedStart(labels) {
  let shared = labels[0];
  for (const label of labels) while (!label.startsWith(shared)) shared = shared.slice(0, -1);
  return shared.replace(/[\s,:(\u00b7-]*\S?$/u, (end) => (labels.every((label) => label === shared) ? end : '')).trim();
}

const kFew = 10;  // a box or a cell of fewer jobs says little

/** The column of how many jobs a row is of, where there is one, and whether a row's are few. */
function jobsOf(report) {
  const [n] = columnsOf(report, 'count', false);
  return [n, (row) => n !== undefined && typeof row[n] === 'number' && row[n] < kFew];
}

function boxes(report, width, paint) {
  const [x] = columnsOf(report, 'x'), parts = ['low', 'q1', 'median', 'q3', 'high'].map((name) => columnsOf(report, name)[0]);
  const rows = inOrder(report.rows.filter((row) => parts.every((part) => typeof row[part] === 'number')), report.columns[x], (row) => row[x]);
  const column = {...report.columns[parts[2]]}, log = (report.options.log ?? '').includes('y');
  const most = Math.min(rows.length, kMost);
  if (most < rows.length) report.note = say('page.top', most, plain(report.total, 0));
  const shown = rows.slice(0, most), labels = shown.map((row) => text(row[x], report.columns[x]));
  // The extremes stand beyond the whiskers; a column may hold only one of them, and a row may lack it.
  const extremes = ['least', 'most'].map((name) => columnsOf(report, name, false)[0]).filter((at) => at !== undefined);
  const held = shown.flatMap((row) => [...parts, ...extremes].map((part) => row[part])).filter((value) => typeof value === 'number');
  const [n, few] = jobsOf(report);
  const upright = labels.length <= 8 && widest(labels) < (width - 80) / labels.length && width > 520;
  const axis = figureAxis(paint, column, held, {log, splits: width < 480 && !upright ? 3 : 5});
  // The axis is of one quantity; which of its quantiles box and whiskers are is said below.
  axis.name = titleOf({...column, label: sharedStart(parts.map((part) => report.columns[part].label)), unitText: column.unit === 's' ? '' : column.unitText}).trim();
  const quantiles = parts.map((part) => /(?:^|_)p(\d+)$/.exec(report.columns[part].name)?.[1]);
  if (quantiles.every(Boolean)) alsoSay(report, 'page.box', quantiles[1], quantiles[3], quantiles[0], quantiles[4]);
  // A log axis has no 0: what is not above its lower end is drawn at it; the tooltip says the true figures.
  const floor = axis.type === 'log' ? axis.min : -Infinity;
  if (held.some((value) => value < floor)) alsoSay(report, 'page.at_floor');
  const option = {...common(paint, {trigger: 'item'})};
  const series = {type: 'boxplot', data: shown.map((row) => ({value: parts.map((part) => Math.max(row[part], floor)), itemStyle: few(row) ? {opacity: 0.35} : undefined})), boxWidth: [8, upright ? 54 : 16],
                  itemStyle: {color: paint.scale[1], borderColor: paint.series[0], borderWidth: 1.4}, emphasis: {itemStyle: {borderWidth: 2}}};
  let height;
  if (upright) {
    const names = nameAxis(paint, labels, width - kLeft - 12, {name: titleOf(report.columns[x])});
    nameAbove(axis, kLeft);
    Object.assign(option, {grid: {left: kLeft, right: 12, top: 32, height: 280, outerBoundsMode: 'none'}, xAxis: names.axis, yAxis: axis});
    height = 32 + 280 + names.height + 6;
  } else {
    const left = Math.min(widest(labels) + 14, width * 0.36, 230), body = labels.length * 26 + 8;
    Object.assign(option, {
      grid: {left, right: 26, top: 4, height: body, outerBoundsMode: 'none'}, xAxis: {...axis, nameLocation: 'middle', nameGap: 28},
      yAxis: {type: 'category', inverse: true, data: labels, axisLine: {lineStyle: {color: paint.strong}}, axisTick: {show: false},
              axisLabel: {color: paint.text, fontSize: kSize, interval: 0, width: left - 12, overflow: 'truncate', ellipsis: '\u2026'}},
    });
    height = body + 56;
  }
  const beyond = shown.flatMap((row, place) => extremes.filter((at) => typeof row[at] === 'number' && (row[at] < row[parts[0]] || row[at] > row[parts[4]]))
    .map((at) => ({place, value: upright ? [place, Math.max(row[at], floor)] : [Math.max(row[at], floor), place]})));
  option.series = [series];
  if (beyond.length) {
    option.series.push({type: 'scatter', data: beyond, symbol: 'circle', symbolSize: 6, itemStyle: {color: 'transparent', borderColor: paint.series[0], borderWidth: 1.2}});
    alsoSay(report, 'page.extremes');
  }
  if (shown.some(few)) alsoSay(report, 'page.few_boxes', kFew);
  const told = extremes.length === 2 ? [extremes[0], ...parts, extremes[1]] : [...parts, ...extremes];
  option.tooltip.formatter = (point) => {
    const place = point.data.place ?? point.dataIndex, row = shown[place];
    return tip(labels[place], [...(n === undefined ? told : [n, ...told])].reverse().map((part) => ['', report.columns[part].label, amount(row[part], report.columns[part])]));
  };
  return {option, height};
}

function heatmap(report, width, paint) {
  const [x] = columnsOf(report, 'x'), [y] = columnsOf(report, 'y'), [v] = columnsOf(report, 'value'), column = report.columns[v];
  const sorted = (at) => {
    let keys = inOrder([...new Set(report.rows.map((row) => row[at]))], report.columns[at]);
    if (keys.every((key) => typeof key === 'number')) {
      keys.sort((a, b) => a - b);
      const first = keys[0], count = keys.at(-1) - first + 1;
      // Hours in which nobody submitted have their place, too.
      if (keys.every(Number.isInteger) && count <= 62) keys = Array.from({length: count}, (_, i) => first + i);
    }
    // Weeks begin on Monday, whether Sunday is 0 or 7.
    if (/(^|_)(weekday|dayofweek|dow)$/.test(report.columns[at].name) && keys[0] === 0) keys.push(keys.shift());
    return keys;
  };
  const xs = sorted(x), ys = sorted(y), xLabels = xs.map((key) => text(key, report.columns[x])), yLabels = ys.map((key) => text(key, report.columns[y]));
  const cells = report.rows.filter((row) => typeof row[v] === 'number'), values = cells.map((row) => row[v]), [n, few] = jobsOf(report);
  // One cell far above all others would leave these in one colour: the scale ends below it, and says so.
  const ranked = [...values].sort((a, b) => a - b), highest = ranked.at(-1) ?? 0, usual = ranked[Math.ceil(0.9 * ranked.length) - 1] ?? 0;
  const end = values.length >= 8 && usual > 0 && highest > 3 * usual ? ranked.findLast((value) => value <= 3 * usual) : highest, least = Math.min(0, ...values);
  const over = values.filter((value) => value > end).length;
  if (over) report.note = say('page.over_scale', plain(over, 0), amount(end, column), amount(highest, column));
  if (cells.some(few)) alsoSay(report, 'page.few', kFew);
  const xAt = new Map(xs.map((key, i) => [key, i])), yAt = new Map(ys.map((key, i) => [key, i]));
  const left = Math.min(widest(yLabels) + 14, width * 0.3), body = ys.length * (width < 480 ? 26 : 32);
  const each = (width - left - 8) / xs.length, need = widest(xLabels) + 8;
  const option = {
    ...common(paint, {trigger: 'item'}), grid: {left, right: 8, top: 6, height: body, outerBoundsMode: 'none'},
    xAxis: {type: 'category', data: xLabels, axisLine: {show: false}, axisTick: {show: false}, name: titleOf(report.columns[x]), nameLocation: 'middle', nameGap: 26,
            nameTextStyle: {color: paint.soft}, axisLabel: {color: paint.soft, fontSize: kSize, interval: need <= each ? 0 : Math.ceil(need / each) - 1}},
    yAxis: {type: 'category', data: yLabels, inverse: true, axisLine: {show: false}, axisTick: {show: false},
            axisLabel: {color: paint.text, fontSize: kSize, interval: 0, width: left - 12, overflow: 'truncate'}},
    visualMap: {min: least, max: Math.max(1e-9, end), dimension: 2, calculable: width >= 480, text: width >= 480 ? undefined : [(over ? '\u2265 ' : '') + amount(end, column), amount(least, column)], orient: 'horizontal', left: 'center', bottom: 4,
                itemWidth: 12, itemHeight: Math.min(260, width * 0.4), inRange: {color: paint.scale}, textStyle: {color: paint.soft},
                formatter: (value) => amount(value, column), handleStyle: {borderColor: paint.strong}},
    series: [{type: 'heatmap', itemStyle: {borderColor: paint.card, borderWidth: 1.5, borderRadius: 3}, emphasis: {itemStyle: {borderColor: paint.text}},
              label: {show: true, opacity: 1, fontSize: 10, color: paint.text, textBorderColor: paint.card, textBorderWidth: 2,
                      formatter: (point) => (few(cells[point.dataIndex]) && each >= 24 ? plain(cells[point.dataIndex][n], 0) : '')},
              data: cells.map((row) => ({value: [xAt.get(row[x]), yAt.get(row[y]), Math.min(row[v], end)],
                                         itemStyle: few(row) ? {opacity: 0.35} : row[v] > end ? {borderColor: paint.warn} : undefined}))}],
  };
  option.tooltip.formatter = (point) => {
    const row = cells[point.dataIndex];
    return tip(yLabels[point.value[1]] + ', ' + xLabels[point.value[0]],
               [[point.color, column.label, amount(row[v], column)], ...(n === undefined ? [] : [['', report.columns[n].label, amount(row[n], report.columns[n])]])]);
  };
  return {option, height: body + 100};
}

function radar(report, width, paint) {
  const [name] = columnsOf(report, 'name'), all = columnsOf(report, 'axes'), rows = report.rows.slice(0, kMost);
  // An axis on which nobody has a place would look like a place in the middle.
  const axes = all.filter((axis) => rows.some((row) => typeof row[axis] === 'number'));
  if (axes.length < all.length) report.note = say('page.unknown_series', all.filter((axis) => !axes.includes(axis)).map((axis) => report.columns[axis].label).join(', '));
  if (!axes.length) return {option: {series: []}, height: 0};
  const labels = rows.map((row) => text(row[name], report.columns[name]));
  if (rows.length < report.total) alsoSay(report, 'page.top', rows.length, plain(report.total, 0));
  const beside = width >= 640, box = beside ? Math.min(width * 0.62, 620) : width, radius = Math.min(box * (beside ? 0.31 : 0.27), 165);
  // Lines around a pole and no radar of ECharts, which draws what is unknown as 0: here it is a gap.  The first axis comes again at the
  // end, so that the line closes.
  const places = report.options.places, placeOf = new Map(axes.map((axis) => [axis, places ? report.columns.findIndex((column) => column.name === report.columns[axis].name + places) : axis]));
  const around = (row) => [...axes, axes[0]].map((axis, i) => { const at = row[placeOf.get(axis)]; return [typeof at === 'number' ? Math.max(0, Math.min(1, at)) : null, i]; });
  const option = {
    ...common(paint, {trigger: 'item'}),
    polar: {center: [box / 2, beside ? 215 : 60 + radius + 46], radius},
    radiusAxis: {min: 0, max: 1, interval: 0.25, axisLine: {show: false}, axisTick: {show: false}, axisLabel: {show: false}, splitLine: {lineStyle: {color: paint.line}}},
    angleAxis: {type: 'value', min: 0, max: axes.length, interval: 1, startAngle: 90, axisLine: {lineStyle: {color: paint.line}}, axisTick: {show: false},
                splitLine: {show: true, lineStyle: {color: paint.line}},
                axisLabel: {color: paint.soft, fontSize: beside ? kSize : 10, margin: 10, formatter: (at) => (at < axes.length ? wrapped(report.columns[axes[at]].label, beside ? 18 : 9) : '')}},
    series: rows.map((row, i) => ({
      type: 'line', coordinateSystem: 'polar', name: labels[i], symbol: 'circle', symbolSize: 5, connectNulls: false, data: around(row),
      lineStyle: {color: paint.series[i % 8], width: 1.8, type: i % 16 < 8 ? 'solid' : 'dashed'}, itemStyle: {color: paint.series[i % 8]}})),
    legend: legend(paint, labels, {selected: Object.fromEntries(labels.map((label, i) => [label, i < 3])),
                                   ...(beside ? {orient: 'vertical', left: box + 10, top: 16, bottom: 16} : {top: 0})}),
  };
  option.tooltip.formatter = (point) => tip(point.seriesName, axes.map((axis) => ['', report.columns[axis].label, typeof rows[point.seriesIndex][axis] !== 'number' ? say('page.unknown') : places ? amount(rows[point.seriesIndex][axis], report.columns[axis]) : figure(rows[point.seriesIndex][axis])]));
  if (rows.some((row) => axes.some((axis) => typeof row[axis] !== 'number'))) alsoSay(report, 'page.gaps');
  if (rows.length > 3) alsoSay(report, 'page.radar');
  return {option, height: beside ? 430 : 60 + 2 * radius + 100};
}
/** A label in two lines where it is long and has a blank. */
function wrapped(label, most) {
  if (label.length <= most) return label;
  const middle = label.length / 2, blanks = [...label.matchAll(/ /g)].map((match) => match.index);
  if (!blanks.length) return cut(label, most + 4);
  const at = blanks.reduce((a, b) => (Math.abs(b - middle) < Math.abs(a - middle) ? b : a));
  return cut(label.slice(0, at), most + 4) + '\n' + cut(label.slice(at + 1), most + 4);
}

function scatter(report, width, paint) {
  const [x] = columnsOf(report, 'x'), [y] = columnsOf(report, 'y'), [group] = columnsOf(report, 'group', false), log = report.options.log ?? '';
  const xColumn = report.columns[x], yColumn = report.columns[y], left = kLeft, named = report.rows.some((row) => typeof row[x] === 'string');
  const logX = log.includes('x'), logY = log.includes('y');
  const rows = report.rows.filter((row) => row[x] !== null && typeof row[y] === 'number' && !(logX && !(row[x] > 0)) && !(logY && !(row[y] > 0)));
  const hidden = report.rows.length - rows.length;
  const of = new Map();
  for (const row of rows) {
    const key = group === undefined ? yColumn.label : text(row[group], report.columns[group]);
    if (!of.has(key)) of.set(key, []);
    of.get(key).push(row);
  }
  let groups = [...of];
  if (groups.length > kGroups + 1) {
    groups.sort((a, b) => b[1].length - a[1].length);
    groups = [...groups.slice(0, kGroups), [say('page.other', groups.length - kGroups), groups.slice(kGroups).flatMap(([, list]) => list)]];
  }
  const top = groups.length > 1 ? 32 : 4, body = width < 480 ? 240 : 340, size = rows.length > 1500 ? 4 : rows.length > 200 ? 6 : 8;
  const names = [...new Set(rows.map((row) => text(row[x], xColumn)))];
  const option = {
    ...common(paint, {trigger: 'item'}), useUTC: true, grid: {left, right: 22, top: top + 26, height: body, outerBoundsMode: 'none'},
    xAxis: named ? nameAxis(paint, names, width - left - 20).axis
        : isTime(xColumn) ? timeAxis(paint, rows.map((row) => row[x]).sort((a, b) => a - b), width - left - 22)
        : {...figureAxis(paint, xColumn, rows.map((row) => row[x]), {log: logX, splits: width < 480 ? 3 : 6}), nameLocation: 'middle', nameGap: 28, scale: !logX},
    yAxis: figureAxis(paint, yColumn, rows.map((row) => row[y]), {log: logY}),
    series: groups.map(([name, list], i) => ({
      type: 'scatter', name, symbolSize: size, itemStyle: {color: groups.length > 1 ? (i === kGroups ? paint.series[8] : paint.series[i % 8]) : paint.series[0], opacity: rows.length > 200 ? 0.45 : 0.75},
      data: list.map((row) => ({value: [named ? names.indexOf(text(row[x], xColumn)) : row[x], row[y]], row})), emphasis: {itemStyle: {opacity: 1}}})),
  };
  nameAbove(option.yAxis, left);
  option.tooltip.formatter = (point) => {
    const row = point.data.row, first = report.columns.findIndex((column, i) => column.type === 'text' && i !== group);
    return tip(first >= 0 ? text(row[first], report.columns[first]) : point.seriesName,
               report.columns.map((column, i) => [i === group ? point.color : '', column.label, amount(row[i], column)]).filter((_, i) => i !== first).slice(0, 9));
  };
  if (groups.length > 1) option.legend = legend(paint, groups.map(([name]) => name), {itemStyle: {opacity: 1}});
  if (report.rows.length < report.total) report.note = say('page.points', plain(report.rows.length, 0), plain(report.total, 0));
  if (hidden) alsoSay(report, 'page.not_drawn', plain(hidden, 0));
  return {option, height: top + 26 + body + (named ? nameAxis(paint, names, width - left - 20).height : 52)};
}

const kKinds = {bar: bars, hbar: hbars, line: lines, stacked_area: lines, pareto, box: boxes, heatmap, radar, scatter};

// ---------------------------------------------------------------- drawing, lazily

const drawn = new Map();  // place on the page -> its chart
/** The rows of a report; days that SQL gave as text become times, so that axes know how far apart they are. */
function dataOf(article) {
  if (article.report) return article.report;
  const report = JSON.parse(article.querySelector('script.data').textContent);
  report.columns.forEach((column, at) => {
    const held = report.rows.map((row) => row[at]).filter((value) => value !== null);
    if (column.type !== 'text' || !held.length || !held.every((value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)))) return;
    column.type = 'time';
    // As html_card.cc says of times: one first of a month alone, or one in a column of days, says nothing.
    const months = column.name.includes('month') || new Set(held).size > 1 && !column.name.includes('day');
    column.grain = months && held.every((value) => value.endsWith('-01')) ? 'month' : 'day';
    for (const row of report.rows) if (row[at] !== null) row[at] = Date.parse(row[at]);
  });
  return (article.report = report);
}

function draw(place) {
  const report = dataOf(place.closest('.report')), note = place.nextElementSibling;
  const width = printing ? 690 : Math.floor(place.clientWidth);
  if (!width) return;
  if (printing) place.style.width = '690px'; else place.style.removeProperty('width');
  report.note = '';
  try {
    const made = kKinds[report.kind](report, width, isDark() ? kDark : kLight);
    if (!made.option.series.length) { place.hidden = true; note.textContent = report.note; drawn.set(place, {chart: null, width}); return; }
    place.style.minHeight = '0';
    place.style.height = made.height + 'px';
    let chart = drawn.get(place)?.chart;
    // SVG stays sharp on paper; for thousands of points it is slow.
    const renderer = report.rows.length > 1500 && report.kind === 'scatter' ? 'canvas' : 'svg';
    if (!chart) chart = echarts.init(place, null, {renderer, width, height: made.height, devicePixelRatio: Math.max(2, devicePixelRatio)});
    else chart.resize({width, height: made.height});
    chart.setOption(made.option, true);
    drawn.set(place, {chart, width});
    note.textContent = report.note;
  } catch (error) {
    // A chart that cannot be drawn never takes the table with it.
    place.style.minHeight = '0';
    drawn.set(place, {chart: null, width});
    note.textContent = say('page.no_chart', String(error.message));
  }
}
const places = [...document.querySelectorAll('.chart')];
function drawAll() { for (const place of places) if (!drawn.has(place)) draw(place); }
function redraw() { for (const place of drawn.keys()) draw(place); }

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); if (!drawn.has(entry.target)) draw(entry.target); }
}, {rootMargin: '600px 0px'});
places.forEach((place) => near.observe(place));
let asked = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => { if (!printing) for (const [place, {width}] of drawn) if (Math.floor(place.clientWidth) !== width) draw(place); });
}).observe(document.body);

// ---------------------------------------------------------------- light and dark, paper

const button = document.getElementById('theme');
function setTheme(name) {
  root.dataset.theme = name;
  button.textContent = say(name === 'dark' ? 'page.light' : 'page.dark');
  redraw();
}
button.addEventListener('click', () => setTheme(isDark() ? 'light' : 'dark'));
darkAsked.addEventListener('change', () => setTheme(darkAsked.matches ? 'dark' : 'light'));
document.getElementById('print').addEventListener('click', () => window.print());

let closed = [];
addEventListener('beforeprint', () => {
  if (printing) return;
  printing = true;
  closed = [...document.querySelectorAll('details.table:not([open]), .contents > details:not([open])')];
  for (const one of closed) one.open = true;
  redraw();
  drawAll();
});
addEventListener('afterprint', () => {
  printing = false;
  for (const one of closed) one.open = false;
  redraw();
});

// ---------------------------------------------------------------- tables

function order(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;  // unknown last, whichever way
  if (b === null || b === undefined) return -1;
  return typeof a === 'string' || typeof b === 'string' ? String(a).localeCompare(String(b), undefined, {numeric: true}) : a - b;
}
function makeSortable(table) {
  const body = table.tBodies[0];
  let rows = null;
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    const column = Number(cell.dataset.column ?? at);  // the table may lack columns of the rows
    const press = document.createElement('button');
    press.type = 'button';
    press.append(...cell.childNodes);
    cell.append(press);
    press.addEventListener('click', () => {
      const held = dataOf(table.closest('.report')).rows;
      rows ??= [...body.rows].map((row, i) => [row, i]);
      const figures = held.some((row) => typeof row[column] === 'number');
      const before = cell.getAttribute('aria-sort'), down = before ? before === 'ascending' : figures;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      rows.sort(([, i], [, j]) => {
        const a = held[i][column], b = held[j][column];
        const way = order(a, b), unknown = a === null || b === null;
        return (down && !unknown ? -way : way) || i - j;
      });
      body.append(...rows.map(([row]) => row));
    });
  });
}
document.querySelectorAll('.report table').forEach(makeSortable);

function hand(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
/** A spreadsheet takes a text that begins like a formula for one, and a job may be named like that: it gets a quote. */
function csvCell(value, column) {
  if (value === null || value === undefined) return '';
  if (column.type === 'time') return new Date(value).toISOString().slice(0, column.grain ? 10 : 19).replace('T', ' ');
  if (typeof value !== 'string') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}
function csv(report) {
  const line = (cells) => cells.join(',') + '\r\n';
  return '\ufeff' + line(report.columns.map((column) => csvCell(column.name, {type: 'text'}))) +
      report.rows.map((row) => line(row.map((value, i) => csvCell(value, report.columns[i])))).join('');
}
function png(article, report) {
  const place = article.querySelector('.chart'), held = drawn.get(place)?.chart;
  if (!held) return;
  const paint = isDark() ? kDark : kLight, box = document.createElement('div');
  const made = kKinds[report.kind](report, held.getWidth(), paint), head = 34;
  const chart = echarts.init(box, null, {renderer: 'canvas', width: held.getWidth(), height: made.height + head, devicePixelRatio: 2});
  chart.setOption({...made.option, backgroundColor: paint.card}, true);
  const canvas = document.createElement('canvas'), drawing = chart.renderToCanvas({pixelRatio: 2, backgroundColor: paint.card});
  canvas.width = drawing.width;
  canvas.height = drawing.height + 32;
  const pen = canvas.getContext('2d');
  pen.fillStyle = paint.card;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(drawing, 0, 64);
  pen.fillStyle = paint.text;
  pen.font = '600 28px ' + kFont;
  pen.fillText(report.title, 16, 42, canvas.width - 32);
  canvas.toBlob((blob) => { hand(blob, report.id + '.png'); chart.dispose(); });
}
document.addEventListener('click', (event) => {
  const press = event.target.closest('button[data-do]');
  if (!press) return;
  const article = press.closest('.report'), report = dataOf(article);
  if (press.dataset.do === 'csv') hand(new Blob([csv(report)], {type: 'text/csv;charset=utf-8'}), report.id + '.csv');
  if (press.dataset.do === 'png') png(article, report);
});

// ---------------------------------------------------------------- contents

const contents = document.querySelector('.contents > details');
if (contents && matchMedia('(max-width: 71.99rem)').matches) contents.open = false;
const links = new Map([...document.querySelectorAll('.contents ol ol a')].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
let here = null;
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const link = links.get(entry.target.id);
    if (!entry.isIntersecting || !link || link === here) continue;
    here?.removeAttribute('aria-current');
    here = link;
    here.setAttribute('aria-current', 'true');
    const box = link.closest('.contents'), at = link.getBoundingClientRect(), around = box.getBoundingClientRect();
    if (box.scrollHeight > box.clientHeight && (at.top < around.top || at.bottom > around.bottom)) box.scrollTop += at.top - around.top - around.height / 3;
  }
}, {rootMargin: '-10% 0px -75% 0px'});
document.querySelectorAll('.report[id]').forEach((article) => watch.observe(article));

button.textContent = say(isDark() ? 'page.light' : 'page.dark');
if (location.hash === '#all') drawAll();
// For tests and for whoever makes a picture of the page.
window.sickbayReport = {drawAll, places: () => places.length, chart: (id) => drawn.get(document.getElementById(id).querySelector('.chart'))?.chart, charts: () => [...drawn.values()].filter((one) => one.chart).length, csv: (id) => csv(dataOf(document.getElementById(id)))};
})();
