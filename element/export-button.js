// <export-button>: asks a Rowmill gateway for a file of the rows on the screen,
// shows how the export fares and hands the file out. No dependency, no inline
// style: it works under a policy of style-src 'self'. See README.md.

/**
 * @typedef {'ko' | 'en'} Language
 * @typedef {() => Promise<string> | string} TokenProvider Gives a bearer token; asked before each call.
 * @typedef {Record<string, string[]>} Filter The list's filter parameters and their values.
 * @typedef {object} Job A job as the gateway's GET /api/v1/exports/{id} gives it.
 * @property {string} id
 * @property {'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired'} status
 * @property {'snapshot' | 'fetch' | 'verify' | 'publish'} [phase] Of a running job.
 * @property {number} percent 100 exactly when the file can be downloaded.
 * @property {number} rows_expected 0: not known yet.
 * @property {number} rows_written
 * @property {number} [place] In the queue; 1 runs next.
 * @property {{code: string, message: string, since: string}} [notice]
 * @property {number} attempt
 * @property {Record<string, any>} request
 * @property {string} [expires_at]
 * @property {boolean} [personal]
 * @property {{code: string, message: string}} [failure]
 * @property {{bytes: number, written: number}} [receipt]
 * @property {{self: string, file?: string}} links
 * @typedef {object} Preflight
 * @property {number} rows
 * @property {number} bytes
 * @property {number} seconds
 * @property {boolean} reason_required
 * @property {number} max_rows 0: no limit.
 * @property {{code: string, message: string, suggest: string}[]} warnings
 */

const texts = {
  en: {
    export: 'Export', exporting: 'Exporting…', title: 'Export to a file', format: 'Format', columns: 'Columns',
    all: 'All', none: 'None', screen: 'As on screen', xlsx: 'Excel', csv: 'CSV', start: 'Start export', cancel: 'Cancel',
    close: 'Close', again: 'Try again', anew: 'Export again', download: 'Download', signIn: 'Sign in', loading: 'Loading…',
    chosen: (/** @type {string} */ n, /** @type {string} */ all) => `${n} of ${all}`,
    personal: 'Personal data in the clear', masked: 'Otherwise names, phone numbers and e-mail addresses are masked.',
    reason: 'Reason (at least 5 characters; it is kept on record)', rows: 'Rows', size: 'Size', time: 'Time', about: '~',
    estimating: 'Counting the rows…', noEstimate: 'The rows could not be counted. You can start all the same.',
    noColumns: 'Choose at least one column.', useCSV: 'Make it CSV',
    warn: {
      'many-sheets': 'More rows than one sheet holds: Excel will show several sheets. A CSV file has them all in one.',
      'too-many-rows': 'More rows than you may export at once (%s). Narrow the filter.',
      'no-worker': 'No worker is running. The export will start as soon as one does.',
      'no-rows': 'No rows match. The file will have only its header.',
    },
    queued: 'Waiting in the queue', next: 'Next to run', place: 'Place %s in the queue', repeat: 'Will be tried again: ',
    noWorker: 'No worker is running', noWorkerSince: 'It starts as soon as one runs. None has been seen since %s.',
    snapshot: 'Finding the rows', fetch: 'Writing rows', verify: 'Checking the file', publish: 'Publishing the file',
    of: (/** @type {string} */ n, /** @type {string} */ all) => `${n} of ${all} rows`, left: 'about %s left',
    succeeded: 'The file is ready', nRows: '%s rows', until: 'kept until %s',
    failed: 'The export failed', failedDo: 'Try again. If it fails again, tell your support this number: %s',
    failedInvalid: 'The request no longer fits the list. Close this and export anew.',
    canceled: 'The export was canceled', expired: 'The file’s time is over', expiredDo: 'Export again for a new one.',
    lost: 'Connection lost. Trying again…', gone: 'This export is no longer there', denied: 'You are not signed in',
    forbidden: 'You may not do this', busy: 'Too many requests. Try again in %s.', offline: 'The server cannot be reached. Try again.',
    trouble: 'That did not work.', badFilter: 'The filter of this button is neither JSON nor a query.',
  },
  ko: {
    export: '내보내기', exporting: '내보내는 중…', title: '파일로 내보내기', format: '형식', columns: '열',
    all: '전체 선택', none: '전체 해제', screen: '화면과 같게', xlsx: 'Excel', csv: 'CSV', start: '내보내기 시작', cancel: '취소',
    close: '닫기', again: '다시 시도', anew: '다시 내보내기', download: '다운로드', signIn: '로그인', loading: '불러오는 중…',
    chosen: (/** @type {string} */ n, /** @type {string} */ all) => `${all}개 중 ${n}개`,
    personal: '개인정보를 가리지 않음', masked: '선택하지 않으면 이름, 전화번호, 이메일이 가려집니다.',
    reason: '사유 (5자 이상, 기록에 남습니다)', rows: '행', size: '크기', time: '예상 시간', about: '약 ',
    estimating: '행을 세는 중…', noEstimate: '행을 세지 못했습니다. 그래도 시작할 수 있습니다.',
    noColumns: '열을 하나 이상 선택하세요.', useCSV: 'CSV로 바꾸기',
    warn: {
      'many-sheets': '한 시트에 담을 수 있는 행보다 많아 여러 시트로 나뉩니다. CSV는 한 파일에 모두 담깁니다.',
      'too-many-rows': '한 번에 내보낼 수 있는 행(%s)보다 많습니다. 조건을 좁히세요.',
      'no-worker': '실행 중인 작업 서버가 없습니다. 작업 서버가 켜지면 바로 시작됩니다.',
      'no-rows': '조건에 맞는 행이 없습니다. 파일에는 제목 행만 있습니다.',
    },
    queued: '대기 중', next: '다음 차례입니다', place: '대기 순서 %s번째', repeat: '다시 시도할 예정: ',
    noWorker: '실행 중인 작업 서버가 없습니다', noWorkerSince: '작업 서버가 켜지면 바로 시작됩니다. 마지막 확인: %s',
    snapshot: '행을 찾는 중', fetch: '행을 쓰는 중', verify: '파일을 확인하는 중', publish: '파일을 올리는 중',
    of: (/** @type {string} */ n, /** @type {string} */ all) => `${all}행 중 ${n}행`, left: '약 %s 남음',
    succeeded: '파일이 준비되었습니다', nRows: '%s행', until: '%s까지 보관',
    failed: '내보내지 못했습니다', failedDo: '다시 시도하세요. 계속 실패하면 담당자에게 이 번호를 알려 주세요: %s',
    failedInvalid: '요청이 더 이상 목록과 맞지 않습니다. 닫고 새로 내보내세요.',
    canceled: '내보내기를 취소했습니다', expired: '파일 보관 기간이 지났습니다', expiredDo: '다시 내보내면 새 파일을 만듭니다.',
    lost: '연결이 끊겼습니다. 다시 연결하는 중…', gone: '이 내보내기를 찾을 수 없습니다', denied: '로그인이 필요합니다',
    forbidden: '권한이 없습니다', busy: '요청이 너무 많습니다. %s 뒤에 다시 시도하세요.', offline: '서버에 연결할 수 없습니다. 다시 시도하세요.',
    trouble: '처리하지 못했습니다.', badFilter: '이 버튼의 조건은 JSON도 쿼리도 아닙니다.',
  },
};

const css = `
:host { display: inline-flex; flex-direction: column; align-items: flex-start; max-width: 100%; font: 400 .9375rem/1.45 system-ui, "Apple SD Gothic Neo", "Noto Sans KR", "Noto Sans CJK KR", sans-serif;
  --ink: var(--rowmill-ink, light-dark(#1c2430, #e4e8ee)); --soft: var(--rowmill-soft, light-dark(#5a6675, #9aa6b5));
  --back: var(--rowmill-surface, light-dark(#fff, #1a2027)); --box: var(--rowmill-box, light-dark(#f4f2ed, #242b34));
  --line: var(--rowmill-line, light-dark(#d9d5cb, #38424e)); --accent: var(--rowmill-accent, light-dark(#a34a1c, #f0a070));
  --on: var(--rowmill-on-accent, light-dark(#fff, #22140b)); --bad: var(--rowmill-danger, light-dark(#b3261e, #ff9c94));
  --good: var(--rowmill-success, light-dark(#1f6f43, #7fd6a4)); --r: var(--rowmill-radius, .5rem); color: var(--ink); }
:host([hidden]), [hidden] { display: none !important; }
*, ::before { box-sizing: border-box; }
button, a.act { display: inline-flex; align-items: center; justify-content: center; gap: .45rem; min-height: 2.25rem; padding: .375rem .875rem; font: inherit; font-weight: 550;
  color: var(--ink); background: transparent; border: 1px solid var(--line); border-radius: var(--r); cursor: pointer; text-decoration: none; white-space: nowrap; }
button:hover:not(:disabled), a.act:hover { background: var(--box); }
button.main, a.main { color: var(--on); background: var(--accent); border-color: var(--accent); }
button.main:hover:not(:disabled), a.main:hover { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }
button:disabled { opacity: .55; cursor: default; }
button.link { min-height: 0; padding: .125rem .25rem; border: 0; color: var(--accent); font-size: .875rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
svg { width: 1em; height: 1em; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.card { width: 23rem; max-width: 100%; margin-top: .5rem; padding: .75rem .875rem; background: var(--back); border: 1px solid var(--line); border-left: 3px solid var(--accent); border-radius: var(--r); }
.card:focus { outline: none; }
.card[data-kind=succeeded] { border-left-color: var(--good); } .card[data-kind=failed], .card[data-kind=trouble] { border-left-color: var(--bad); }
.card[data-kind=canceled], .card[data-kind=expired] { border-left-color: var(--soft); }
.head { display: flex; justify-content: space-between; gap: .75rem; font-weight: 600; } .percent { font-variant-numeric: tabular-nums; color: var(--soft); }
.detail, .hint { margin: .125rem 0 0; color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.bar { height: .375rem; margin: .5rem 0 .375rem; overflow: hidden; background: var(--box); border-radius: 1rem; }
.bar div { height: 100%; background: var(--accent); border-radius: inherit; transform-origin: left; transition: transform .4s; } .bar:dir(rtl) div { transform-origin: right; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .625rem; } .actions:not(:has(> :not([hidden]))) { display: none; }
dialog { width: min(40rem, calc(100vw - 2rem)); max-height: min(47rem, calc(100dvh - 2rem)); padding: 0; color: var(--ink); background: var(--back); border: 1px solid var(--line); border-radius: calc(var(--r) * 1.5); box-shadow: 0 1.5rem 4rem #0006; overflow: hidden; }
dialog[open] { display: flex; } dialog::backdrop { background: #0f141a80; }
form { display: flex; flex-direction: column; flex: 1; min-width: 0; } h2 { margin: 0; padding: 1rem 1.25rem .5rem; font-size: 1.125rem; line-height: 1.3; }
.body { flex: 1; min-height: 0; padding: .25rem 1.25rem 1rem; overflow-y: auto; }
footer { display: flex; flex-wrap: wrap; justify-content: flex-end; gap: .5rem; padding: 0 1.25rem 1rem; }
fieldset { min-width: 0; margin: .75rem 0 0; padding: 0; border: 0; } legend, .why { padding: 0; font-weight: 600; font-size: .875rem; } .why { display: block; margin-top: .625rem; }
.bulk { display: flex; flex-wrap: wrap; align-items: center; gap: .125rem .375rem; margin: 0 0 .25rem; } .bulk output { margin-right: auto; color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums; }
.columns { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); max-height: 15rem; padding: .375rem; overflow-y: auto; border: 1px solid var(--line); border-radius: var(--r); }
label.check { display: flex; align-items: center; gap: .5rem; min-width: 0; padding: .25rem .375rem; border-radius: calc(var(--r) * .6); cursor: pointer; } label.check:hover { background: var(--box); }
label.check span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .personal label.check { padding-inline: 0; } .personal span { white-space: normal; }
input { flex: none; margin: 0; width: 1rem; height: 1rem; accent-color: var(--accent); }
.formats { display: inline-flex; margin-top: .25rem; padding: .1875rem; background: var(--box); border-radius: var(--r); }
.formats label { position: relative; padding: .25rem 1rem; border-radius: calc(var(--r) * .7); cursor: pointer; color: var(--soft); } .formats input { position: absolute; inset: 0; width: auto; height: auto; opacity: 0; cursor: pointer; }
.formats label:has(:checked) { color: var(--ink); background: var(--back); box-shadow: 0 1px 3px #0003; font-weight: 550; } .formats label:has(:focus-visible) { outline: 2px solid var(--accent); }
textarea { display: block; width: 100%; min-height: 3.5rem; margin-top: .25rem; padding: .5rem .625rem; font: inherit; font-weight: 400; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: var(--r); resize: vertical; }
.estimate { flex: none; min-height: 5.25rem; max-height: 45%; padding: .75rem 1.25rem; overflow-y: auto; border-top: 1px solid var(--line); } dl { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem; margin: 0; } dl div { padding: .5rem .75rem; background: var(--box); border-radius: var(--r); }
dt { color: var(--soft); font-size: .8125rem; } dd { margin: 0; font-size: 1.0625rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.warning, .error { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; margin: .5rem 0 0; padding: .5rem .75rem; border-left: 3px solid var(--accent); background: var(--box); border-radius: var(--r); font-size: .875rem; }
.warning span { flex: 1 1 12rem; } .error { border-left-color: var(--bad); overflow-wrap: anywhere; }
.live { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) { dialog { width: 100vw; max-width: 100vw; max-height: 92dvh; margin: auto 0 0; border-width: 1px 0 0; border-radius: calc(var(--r) * 2) calc(var(--r) * 2) 0 0; } .columns { grid-template-columns: 1fr 1fr; }
  .body, .estimate, footer, h2 { padding-inline: 1rem; } .columns { max-height: 11rem; } dl div { padding-inline: .5rem; } dd { font-size: .9375rem; } footer button { flex: 1; } input { width: 1.125rem; height: 1.125rem; } }
@media (prefers-reduced-motion: reduce) { .bar div { transition: none; } }
`;

/**
 * Reads a filter: a JSON object, or the list's query string (with or without the
 * address before it), whose _sort and _order come along and whose page does not.
 * @param {string | null | undefined} text
 * @returns {{filter: Filter, sort?: string, order?: string}}
 * @throws {SyntaxError} where the text looks like JSON and is none
 */
export function parseFilter(text) {
  const t = (text ?? '').trim();
  /** @type {Filter} */ const filter = {};
  if (t.startsWith('{')) {
    for (const [name, value] of Object.entries(JSON.parse(t))) {
      const values = [value].flat().filter((v) => v !== null && v !== undefined).map(String);
      if (values.length) filter[name] = values;
    }
    return { filter };
  }
  const query = new URLSearchParams(t.slice(t.indexOf('?') + 1));
  for (const [name, value] of query) if (!name.startsWith('_')) (filter[name] ??= []).push(value);
  return { filter, sort: query.get('_sort') ?? undefined, order: query.get('_order') ?? undefined };
}

/**
 * Reads keys of columns: parted by commas or spaces, or as a JSON list. Each comes once.
 * @param {string | null | undefined} text
 * @returns {string[]}
 */
export function parseColumns(text) {
  const t = (text ?? '').trim();
  const keys = t.startsWith('[') ? JSON.parse(t).map(String) : t.split(/[\s,]+/);
  return [...new Set(keys.filter(Boolean))];
}

const longestWait = 30;

/**
 * Gives the seconds to wait before the next try: what the server asked for, or
 * 1, 2, 4 … 30, less up to a quarter so that not everybody comes back at once.
 * @param {number} failures in a row, from 0 on
 * @param {string | null} [retryAfter] the header: seconds or a date
 * @param {{random?: number, now?: number}} [chance] for tests
 */
export function retryDelay(failures, retryAfter, { random = Math.random(), now = Date.now() } = {}) {
  const asked = retryAfter ? Number(retryAfter) : NaN;
  if (asked >= 0) return asked;
  const at = retryAfter ? Date.parse(retryAfter) : NaN;
  if (at >= 0) return Math.max(0, (at - now) / 1000);
  return Math.min(longestWait, 2 ** Math.min(failures, 10)) * (1 - random / 4);
}

/**
 * Follows how fast rows are written; the newest 5 seconds weigh the most.
 * @returns {(rows: number, all: number, at: number) => number | undefined} takes the rows written, those
 *   expected and the time in ms; gives the seconds left, or undefined while that is not known
 */
export function timeLeft() {
  /** @type {{rows: number, at: number} | undefined} */ let last;
  /** @type {number | undefined} */ let rate;
  return (rows, all, at) => {
    if (!last || rows < last.rows) { // the first word, or another attempt
      rate = undefined;
      last = { rows, at };
    } else if (at - last.at >= 400) {
      const seconds = (at - last.at) / 1000;
      const now = (rows - last.rows) / seconds;
      rate = rate === undefined ? now : rate + (now - rate) * (1 - Math.exp(-seconds / 5));
      last = { rows, at };
    }
    return rate && all > 0 ? Math.max(0, all - rows) / rate : undefined;
  };
}

/**
 * Reads server-sent events out of text that comes in pieces.
 * @param {(event: string, data: string) => void} on
 * @returns {(text: string) => void}
 */
export function eventReader(on) {
  let rest = '', event = 'message';
  /** @type {string[]} */ let data = [];
  return (text) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length) on(event, data.join('\n'));
        event = 'message';
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
      else if (line.startsWith('event:')) event = line.slice(6).trim();
    }
  };
}

/**
 * Gives the file's name out of a Content-Disposition, preferring its UTF-8 form.
 * @param {string | null} header
 * @returns {string} empty if it has none
 */
export function fileNameOf(header) {
  const wide = /filename\*=UTF-8''([^;]+)/i.exec(header ?? '');
  try {
    if (wide) return decodeURIComponent(wide[1].trim());
  } catch { /* the plain one is left */ }
  return /filename="?([^";]+)/i.exec(header ?? '')?.[1].trim() ?? '';
}

/** @param {number} bytes @param {string} [language] */
export function formatBytes(bytes, language = 'en') {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  const i = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(language, { style: 'unit', unit: units[i], unitDisplay: i ? 'short' : 'long', maximumSignificantDigits: 3 }).format(bytes / 1000 ** i);
}

/** @param {number} seconds @param {string} [language] */
export function formatSeconds(seconds, language = 'en') {
  const i = seconds < 59.5 ? 0 : seconds < 3570 ? 1 : 2;
  const n = Math.max(1, Math.round(seconds / 60 ** i));
  return new Intl.NumberFormat(language, { style: 'unit', unit: ['second', 'minute', 'hour'][i], unitDisplay: 'short' }).format(n);
}

/** An answer that is no success, or none at all (status 0). */
class Problem extends Error {
  /** @param {number} status @param {string} [detail] @param {string | null} [retryAfter] */
  constructor(status, detail = '', retryAfter = null) {
    super(detail || `HTTP ${status}`);
    this.status = status;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** @param {Response} response */
async function problemOf(response) {
  const p = await response.json().catch(() => ({}));
  const items = (p.errors ?? []).map((/** @type {any} */ e) => `${e.name}: ${e.message}`);
  return new Problem(response.status, [p.detail, ...items].filter(Boolean).join(' · '), response.headers.get('Retry-After'));
}

/** @param {string} text @param {string | number} value */
const put = (text, value) => text.replace('%s', String(value));

/** Makes an element; functions, booleans and text are properties, the rest attributes.
 * @param {string} tag @param {Record<string, any>} [props] @param {(Node | string)[]} children @returns {any} */
function h(tag, props = {}, ...children) {
  const e = /** @type {any} */ (document.createElement(tag));
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'string') e.setAttribute(name, value);
    else e[name] = value;
  }
  e.append(...children);
  return e;
}

function icon() {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS(svg.namespaceURI, 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', 'M12 3v12m-5-5 5 5 5-5M4 20h16');
  svg.append(path);
  return svg;
}

/** Resolves after the seconds, or as soon as the browser is online again or the signal ends it.
 * @param {number} seconds @param {AbortSignal} signal @returns {Promise<void>} */
function pause(seconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(seconds, 3600) * 1000);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}

const final = (/** @type {Job} */ job) => job.status !== 'queued' && job.status !== 'running';
const firstEvent = 5_000; // ms; a gateway sends one at once, a proxy that holds it back never does
const silence = 45_000; // ms; a gateway says something every 15 s

/**
 * @typedef {object} Host What the panel needs of its button.
 * @property {Language} language
 * @property {string} dataset
 * @property {() => Record<string, any>} order The order without columns and format; throws where an attribute cannot be read.
 * @property {() => string[]} columns Those on the screen; empty: the dataset's own.
 * @property {string} format
 * @property {string} signIn Where to sign in, if that is known.
 * @property {(path: string, options?: any) => Promise<Response>} call
 * @property {(body: string) => Promise<void>} start
 * @property {(problem: Problem) => string} words
 */

/** The panel that asks what the file shall hold. */
class Panel {
  /** @type {{box: any, key: string}[]} */ #boxes = [];
  /** @type {Preflight | undefined} */ #estimate;
  /** @type {Problem | undefined} */ #problem; // of the estimate or the start
  #estimated = ''; // the body that #estimate or #problem belongs to
  #known = ''; // the choices when words were last put on the page
  #shown = '';
  #busy = false;
  #life = new AbortController();
  #asking = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {string[]} */ #onScreen = [];

  /** @param {Host} host @param {() => void} closed */
  constructor(host, closed) {
    this.host = host;
    const t = this.t = texts[host.language];
    const format = (/** @type {'xlsx' | 'csv'} */ value) => h('label', {}, h('input', { type: 'radio', name: 'format', value, checked: host.format === value }), t[value]);
    const bulk = (/** @type {string} */ text, /** @type {(key: string) => boolean} */ wanted) => h('button', { type: 'button', class: 'link', onclick: () => {
      for (const { box, key } of this.#boxes) box.checked = wanted(key);
      this.changed();
    } }, text);
    const ui = this.ui = {
      count: h('output'), columns: h('div', { class: 'columns', part: 'columns' }, h('p', { class: 'hint' }, t.loading)),
      personal: h('input', { type: 'checkbox' }), reason: h('textarea', { maxlength: '500', required: true, part: 'reason' }),
      estimate: h('div', { class: 'estimate', part: 'estimate', 'aria-live': 'polite' }),
      start: h('button', { class: 'main', part: 'start' }, t.start),
      privacy: /** @type {any} */ (undefined), why: /** @type {any} */ (undefined),
    };
    ui.why = h('label', { class: 'why', hidden: true }, t.reason, ui.reason);
    ui.privacy = h('fieldset', { class: 'personal', hidden: true }, h('label', { class: 'check' }, ui.personal, h('span', {}, t.personal)), h('p', { class: 'hint' }, t.masked), ui.why);
    this.form = h('form', { oninput: () => this.changed(), onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); this.#start(); } },
      h('h2', { id: 'title' }, t.title),
      h('div', { class: 'body' },
        h('fieldset', {}, h('legend', {}, t.format), h('div', { class: 'formats', part: 'formats' }, format('xlsx'), format('csv'))),
        h('fieldset', {}, h('legend', {}, t.columns), h('div', { class: 'bulk' }, ui.count,
          bulk(t.screen, (key) => this.#onScreen.includes(key)), bulk(t.all, () => true), bulk(t.none, () => false)), ui.columns),
        ui.privacy),
      ui.estimate,
      h('footer', {}, h('button', { type: 'button', part: 'dismiss', onclick: () => this.dialog.close() }, t.cancel), ui.start));
    this.dialog = h('dialog', { part: 'panel', 'aria-labelledby': 'title', lang: host.language, onclose: () => {
      this.#life.abort();
      this.#asking.abort();
      clearTimeout(this.#timer);
      this.dialog.remove();
      closed();
    } }, this.form);
  }

  async open() {
    this.dialog.showModal();
    this.#render();
    const signal = this.#life.signal;
    const me = this.host.call('/api/v1/me', { signal }).then((r) => r.json()).catch(() => ({})); // nobody: nothing in the clear
    try {
      const catalog = await (await this.host.call(`/api/v1/datasets/${encodeURIComponent(this.host.dataset)}/columns`, { signal })).json();
      this.#list(catalog.columns);
      this.ui.privacy.hidden = !((await me).permissions ?? []).includes('pii:read');
      if (!signal.aborted) this.changed();
    } catch (problem) {
      if (signal.aborted) return;
      this.ui.columns.replaceChildren();
      this.#problem = problem instanceof Problem ? problem : new Problem(-1, this.t.badFilter);
      this.#render();
    }
  }

  /** Lists the columns on the screen first, in their order, which is that of the file.
   * @param {any[]} columns */
  #list(columns) {
    const named = this.host.columns().filter((key) => columns.some((c) => c.key === key));
    this.#onScreen = named.length ? named : columns.filter((c) => c.default).map((c) => c.key);
    const place = (/** @type {any} */ c) => (this.#onScreen.indexOf(c.key) + 1) || Infinity;
    const sorted = columns.map((c, i) => ({ c, i, p: place(c) })).sort((a, b) => (a.p === b.p ? a.i - b.i : a.p - b.p));
    this.#boxes = sorted.map(({ c, p }) => ({ key: c.key, box: h('input', { type: 'checkbox', value: c.key, checked: p < Infinity }) }));
    this.ui.columns.replaceChildren(...sorted.map(({ c }, i) => {
      const title = c.titles[this.host.language] ?? c.titles.en ?? c.key;
      return h('label', { class: 'check', title }, this.#boxes[i].box, h('span', {}, title));
    }));
  }

  get #chosen() { return this.#boxes.filter(({ box }) => box.checked).map(({ key }) => key); }
  get #format() { return new FormData(this.form).get('format'); }

  #body() {
    const personal = this.ui.personal.checked;
    const reason = this.ui.reason.value.trim();
    return JSON.stringify({ ...this.host.order(), format: this.#format, columns: this.#chosen, ...(personal && { personal, ...(reason && { reason }) }) });
  }

  /** What the estimate depends on: everything but the reason. */
  #choices() { return JSON.stringify({ ...JSON.parse(this.#body()), reason: undefined }); }

  /** Something was chosen, or an attribute has changed: the estimate is made anew. */
  changed() {
    if (!this.#boxes.length) return;
    let choices = '';
    try {
      choices = this.#choices();
    } catch {
      this.#problem = new Problem(-1, this.t.badFilter);
      this.#estimated = '';
      this.#known = 'bad';
      return this.#render();
    }
    if (choices !== this.#known) {
      this.#known = choices;
      this.#problem = undefined;
      this.#asking.abort();
      clearTimeout(this.#timer);
      if (this.#chosen.length) this.#timer = setTimeout(() => this.#preflight(choices), 250);
    }
    this.#render();
  }

  /** @param {string} choices */
  async #preflight(choices) {
    const { signal } = this.#asking = new AbortController();
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        this.#estimate = await (await this.host.call('/api/v1/exports/preflight', { method: 'POST', body: this.#body(), signal })).json();
        this.#problem = undefined;
      } catch (problem) {
        if (signal.aborted) return;
        this.#estimate = undefined;
        this.#problem = problem instanceof Problem ? problem : new Problem(0);
        if (this.#problem.status === 429) {
          this.#render();
          await pause(retryDelay(failures, this.#problem.retryAfter), signal);
          continue;
        }
      }
      this.#estimated = choices;
      return this.#render();
    }
  }

  /** Whether the server would refuse for sure. */
  get #refused() {
    const status = this.#problem?.status ?? 0;
    return [-1, 400, 401, 403, 429].includes(status) || this.#estimate?.warnings.some((w) => w.code === 'too-many-rows');
  }

  async #start() {
    if (this.ui.start.disabled) return;
    this.#busy = true;
    this.#render();
    try {
      await this.host.start(this.#body());
      return this.dialog.close();
    } catch (problem) {
      this.#problem = problem instanceof Problem ? problem : new Problem(0);
    }
    this.#busy = false;
    this.#render();
    if ([429, 503].includes(this.#problem.status)) {
      const refusal = this.#problem;
      await pause(retryDelay(2, refusal.retryAfter), this.#life.signal);
      if (this.#problem === refusal) this.#problem = undefined;
      this.#render();
    }
    this.ui.start.focus();
  }

  #render() {
    const { ui, t, host } = this;
    if (this.#life.signal.aborted) return;
    const chosen = this.#chosen.length, n = (/** @type {number} */ x) => x.toLocaleString(host.language);
    const fresh = this.#estimated === this.#known && this.#known !== '';
    const needed = ui.personal.checked && (!this.#estimate || this.#estimate.reason_required);
    ui.count.textContent = this.#boxes.length ? t.chosen(n(chosen), n(this.#boxes.length)) : '';
    ui.why.hidden = !ui.personal.checked;
    ui.reason.required = needed;
    ui.start.disabled = this.#busy || !chosen || !fresh || this.#refused || (needed && ui.reason.value.trim().length < 5);
    ui.estimate.setAttribute('aria-busy', String(!fresh));
    const parts = [];
    const e = this.#estimate;
    if (e && chosen) {
      const figure = (/** @type {string} */ name, /** @type {string} */ value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
      parts.push(h('dl', {}, figure(t.rows, n(e.rows)), figure(t.size, t.about + formatBytes(e.bytes, host.language)), figure(t.time, t.about + formatSeconds(e.seconds, host.language))));
      for (const w of e.warnings) parts.push(this.#warning(w, n(e.max_rows)));
    }
    if (this.#boxes.length && !chosen) parts.push(h('p', { class: 'hint' }, t.noColumns));
    else if (this.#problem) {
      const soft = fresh && !this.#refused && !this.#busy && !e;
      const words = this.#problem.status < 0 ? '' : soft ? t.noEstimate : host.words(this.#problem);
      const p = h('p', { class: soft ? 'warning' : 'error', role: 'alert' }, [words, this.#problem.detail].filter(Boolean).join(' '));
      if (this.#problem.status === 401 && host.signIn) p.append(h('a', { href: host.signIn }, t.signIn));
      parts.push(p);
    } else if (!e) parts.push(h('p', { class: 'hint' }, t.estimating));
    const shown = parts.map((p) => p.outerHTML).join('');
    if (shown === this.#shown) return; // nobody is told again what stands there
    this.#shown = shown;
    ui.estimate.replaceChildren(...parts);
  }

  /** @param {Preflight['warnings'][number]} w @param {string} limit */
  #warning(w, limit) {
    const own = this.t.warn[/** @type {'no-rows'} */ (w.code)];
    const p = h('p', { class: 'warning', part: 'warning' }, h('span', {}, own ? put(own, limit) : w.message));
    if (w.suggest === 'csv' && this.#format !== 'csv') {
      p.append(h('button', { type: 'button', part: 'use-csv', onclick: () => {
        this.form.querySelector('[value=csv]').checked = true;
        this.changed();
        this.form.querySelector('[value=csv]').focus();
      } }, this.t.useCSV));
    }
    return p;
  }
}

/** @type {CSSStyleSheet | undefined} */ let sheet;
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {}); // importable where there is no page

/**
 * The button. Attributes: dataset, filter, sort, order, columns, format, language, time-zone, gateway, token-callback.
 * @fires export-state with the job as detail, whenever it has changed
 * @fires export-done with the job as detail, once its file can be downloaded
 */
export class ExportButton extends Base {
  static observedAttributes = ['dataset', 'filter', 'sort', 'order', 'columns', 'format', 'language', 'time-zone', 'gateway', 'token-callback'];

  /** @type {TokenProvider | undefined} */ #provider;
  /** @type {Job | undefined} */ #job;
  /** @type {any} */ #ui;
  /** @type {any} */ #panel; // while it asks
  #watching = new AbortController();
  #left = timeLeft();
  #said = '';
  #busy = false;
  #lost = false;
  /** @type {Problem | undefined} */ #trouble; // that ended the watching
  /** @type {Problem | undefined} */ #fault; // of the last action
  /** @type {{body: string, key: string} | undefined} */ #intent;
  #remembered = ''; // where there is no sessionStorage

  connectedCallback() {
    for (const name of ['tokenProvider', 'filter', 'columns']) { // set before the element was defined
      if (!Object.hasOwn(this, name)) continue;
      const value = /** @type {any} */ (this)[name];
      delete /** @type {any} */ (this)[name];
      /** @type {any} */ (this)[name] = value;
    }
    if (!this.#ui) this.#build();
    this.#resume();
  }

  disconnectedCallback() {
    this.#watching.abort();
    this.#panel?.dialog.close();
  }

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (!this.#ui || !this.isConnected || before === after) return;
    if (name === 'gateway' || name === 'dataset') {
      this.#panel?.dialog.close();
      this.#resume();
    } else if (name !== 'language') this.#panel?.changed();
    this.#render();
  }

  /** The job that is shown. */
  get job() { return this.#job; }
  /** Gives the bearer token of each call; wins over token-callback. Without either cookies are used. */
  get tokenProvider() { return this.#provider; }
  set tokenProvider(provider) {
    this.#provider = provider;
    if (this.isConnected && this.#trouble?.status === 401) this.#resume(); // it was asked too early
  }
  /** @returns {string | Filter | null} */
  get filter() { return this.getAttribute('filter'); }
  set filter(value) { this.#reflect('filter', value && typeof value === 'object' ? JSON.stringify(value) : value); }
  /** @returns {string | string[] | null} */
  get columns() { return this.getAttribute('columns'); }
  set columns(value) { this.#reflect('columns', Array.isArray(value) ? value.join(',') : value); }

  /** @param {string} name @param {string | null} value */
  #reflect(name, value) { value === null || value === undefined ? this.removeAttribute(name) : this.setAttribute(name, value); }

  /** @returns {Language} */
  get #language() {
    const named = this.getAttribute('language') || document.documentElement.lang || navigator.language;
    return named.toLowerCase().startsWith('ko') ? 'ko' : 'en';
  }
  get #t() { return texts[this.#language]; }
  get #dataset() { return this.getAttribute('dataset') || 'reservations'; }
  get #base() { return new URL(this.getAttribute('gateway') || '/', document.baseURI).href.replace(/\/+$/, ''); }
  get #sameOrigin() { return new URL(this.#base).origin === location.origin; }
  get #key() { return `rowmill-export ${this.#base} ${this.#dataset} ${location.pathname}${this.id && ' #' + this.id}`; }
  /** @param {number} n */
  #number(n) { return n.toLocaleString(this.#language); }
  /** @param {string} [time] */
  #when(time) {
    const say = (/** @type {string} */ timeZone) => new Date(time ?? '').toLocaleString(this.#language, { dateStyle: 'medium', timeStyle: 'short', ...(timeZone && { timeZone }) });
    try { return time ? say(this.getAttribute('time-zone') ?? '') : ''; } catch { return say(''); }
  }

  // The job's id outlives the page; "done" behind it says that export-done was told.
  #recall() {
    try { return sessionStorage.getItem(this.#key) ?? ''; } catch { return this.#remembered; }
  }
  /** @param {string} text */
  #remember(text) {
    this.#remembered = text;
    try { text ? sessionStorage.setItem(this.#key, text) : sessionStorage.removeItem(this.#key); } catch { /* no storage: the page's life is enough */ }
  }

  // Calls of the gateway.

  async #token() {
    const name = this.getAttribute('token-callback');
    const give = this.#provider ?? (name ? /** @type {any} */ (globalThis)[name] : undefined);
    if (!give) {
      if (name) throw new Problem(401, `token-callback: ${name}`);
      return undefined;
    }
    const token = await Promise.resolve().then(() => give.call(globalThis)).catch(() => '');
    if (!token) throw new Problem(401);
    return String(token);
  }

  /** @param {string} path @param {{method?: string, body?: string, key?: string, signal?: AbortSignal, accept?: string}} [options]
   * @returns {Promise<Response>} a success; anything else is thrown as a Problem */
  async #call(path, { method = 'GET', body, key, signal, accept = 'application/json' } = {}) {
    let token = await this.#token();
    for (let second = false; ; second = true) {
      /** @type {Record<string, string>} */ const headers = { Accept: accept };
      if (body !== undefined) headers['Content-Type'] = 'application/json';
      if (key) headers['Idempotency-Key'] = key;
      if (token) headers.Authorization = `Bearer ${token}`;
      const response = await fetch(this.#base + path, { method, headers, body, signal, cache: 'no-store', credentials: token ? 'omit' : 'same-origin' })
        .catch((cause) => { throw signal?.aborted ? cause : new Problem(0); });
      if (response.ok) return response;
      const fresh = response.status === 401 && token && !second ? await this.#token() : token;
      if (fresh === token) throw await problemOf(response);
      token = fresh;
    }
  }

  /** @param {string} id */
  #path(id) { return '/api/v1/exports/' + encodeURIComponent(id); }

  // Watching.

  #resume() {
    this.#watching.abort();
    this.#job = this.#trouble = this.#fault = undefined;
    this.#lost = false;
    const [id] = this.#recall().split(' ');
    if (id) this.#watch(id);
    this.#render();
  }

  /** @param {string} id @param {Job} [job] */
  #watch(id, job) {
    this.#watching.abort();
    this.#watching = new AbortController();
    this.#left = timeLeft();
    this.#trouble = undefined;
    if (job) this.#take(job);
    if (!job || !final(job)) this.#follow(id, this.#watching.signal);
  }

  /** Follows a job to its end: by its events, and by asking where they do not come.
   * @param {string} id @param {AbortSignal} signal */
  async #follow(id, signal) {
    let failures = 0, asks = 0, patience = 1; // so many asks before the next try of the events
    while (!signal.aborted) {
      let wait = /** @type {string | null} */ (null);
      try {
        if (asks-- <= 0) {
          asks = patience;
          patience = Math.min(patience * 2, longestWait);
          if (await this.#stream(id, signal)) patience = asks = 1;
        } else {
          const response = await this.#call(this.#path(id), { signal });
          this.#take(await response.json());
          wait = response.headers.get('Retry-After') ?? '1';
        }
        failures = 0;
      } catch (problem) {
        if (signal.aborted) return;
        if (!(problem instanceof Problem)) problem = new Problem(0);
        const p = /** @type {Problem} */ (problem);
        if ([401, 403, 404, 410].includes(p.status)) return this.#end(p);
        wait = p.retryAfter;
        failures++;
      }
      if (signal.aborted || (this.#job?.id === id && final(this.#job))) return;
      this.#lost = failures > 1;
      this.#render();
      await pause(retryDelay(Math.max(0, failures - 1), wait), signal);
    }
  }

  /** Reads the job's events until they end; true if any came.
   * @param {string} id @param {AbortSignal} signal */
  async #stream(id, signal) {
    const own = new AbortController();
    const abort = () => own.abort();
    signal.addEventListener('abort', abort);
    let timer = setTimeout(abort, firstEvent), any = false;
    try {
      const response = await this.#call(this.#path(id) + '/events', { signal: own.signal, accept: 'text/event-stream' });
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      const decoder = new TextDecoder();
      const push = eventReader((event, data) => {
        if (event !== 'job' || signal.aborted) return;
        any = true;
        this.#take(JSON.parse(data));
      });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        push(decoder.decode(value, { stream: true }));
        clearTimeout(timer);
        timer = setTimeout(abort, any ? silence : firstEvent);
        if (this.#job && final(this.#job)) break;
      }
    } catch (problem) {
      if (!any) throw problem;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      own.abort();
    }
    return any;
  }

  /** @param {Job} job */
  #take(job) {
    const news = JSON.stringify(job) !== JSON.stringify(this.#job);
    this.#job = job;
    this.#trouble = undefined;
    this.#lost = false; // it is the server's word
    this.#render();
    if (!news) return;
    const tell = (/** @type {string} */ name) => this.dispatchEvent(new CustomEvent(name, { detail: job, bubbles: true, composed: true }));
    tell('export-state');
    if (job.status !== 'succeeded' || this.#recall() === job.id + ' done') return;
    this.#remember(job.id + ' done');
    tell('export-done');
  }

  /** Ends the watching with words. @param {Problem} problem */
  #end(problem) {
    this.#watching.abort();
    this.#lost = false;
    if (problem.status === 404) this.#remember('');
    this.#trouble = problem;
    this.#render();
  }

  // What the person does.

  /** Runs one action at a time. @param {() => Promise<void>} action */
  async #act(action) {
    if (this.#busy) return;
    this.#busy = true;
    this.#fault = undefined;
    this.#render();
    try {
      await action();
    } catch (problem) {
      this.#fault = problem instanceof Problem ? problem : new Problem(0);
    }
    this.#busy = false;
    this.#render();
  }

  #cancel() {
    const job = /** @type {Job} */ (this.#job);
    return this.#act(async () => {
      const response = await this.#call(this.#path(job.id), { method: 'DELETE' }).catch((p) => {
        if (p.status === 409) return this.#call(this.#path(job.id)); // it has ended meanwhile
        throw p;
      });
      this.#watching.abort();
      this.#take(await response.json());
    });
  }

  #again() {
    const job = /** @type {Job} */ (this.#job);
    return this.#act(async () => {
      const response = await this.#call(this.#path(job.id) + '/again', { method: 'POST' }).catch((p) => {
        if (p.status !== 404 && p.status !== 405) throw p; // else the gateway keeps it no more, or cannot
        const body = JSON.stringify({ ...job.request, ...(job.personal && { personal: true }) });
        return this.#call('/api/v1/exports', { method: 'POST', body, key: this.#keyOf(body + job.id) });
      });
      this.#started(await response.json());
    });
  }

  /** @param {Job} job */
  #started(job) {
    this.#intent = undefined;
    this.#remember(job.id);
    this.#said = '';
    if (this.isConnected) this.#watch(job.id, job);
  }

  /** The same body of the same intention has the same key. @param {string} body */
  #keyOf(body) {
    if (this.#intent?.body !== body) {
      const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
      this.#intent = { body, key };
    }
    return this.#intent.key;
  }

  get #bearer() { return Boolean(this.#provider || this.getAttribute('token-callback')); }

  /** The file's address for a plain link, or '#' where a call must come first. */
  get #href() {
    const file = this.#job?.links.file ?? '';
    const url = new URL(file.startsWith('/') ? this.#base + file : file, this.#base + '/');
    return this.#bearer || !/^https?:$/.test(url.protocol) ? '#' : url.href;
  }

  /** @param {Event} event */
  #download(event) {
    event.preventDefault();
    const job = /** @type {Job} */ (this.#job);
    this.#act(async () => {
      if (!this.#bearer) { // a link that is refused says nothing: ask first whether the file is still there
        this.#take(await (await this.#call(this.#path(job.id))).json());
        if (this.#job?.status === 'succeeded') h('a', { href: this.#href, download: '' }).click();
        return;
      }
      let url = '', name = '', blob = false;
      try {
        ({ url } = await (await this.#call(this.#path(job.id) + '/link', { method: 'POST' })).json());
        if (url.startsWith('/')) url = this.#base + url;
        if (!/^https?:/.test(url)) throw new Problem(404);
      } catch (p) {
        if (![404, 405].includes(/** @type {Problem} */ (p).status)) throw p;
        const response = await this.#call(this.#path(job.id) + '/file', { accept: '*/*' });
        name = fileNameOf(response.headers.get('Content-Disposition')) || `${this.#dataset}.${job.request.format}`;
        url = URL.createObjectURL(await response.blob());
        blob = true;
      }
      h('a', { href: url, download: name }).click();
      if (blob) setTimeout(() => URL.revokeObjectURL(url), 60_000);
    });
  }

  #dismiss() {
    this.#watching.abort();
    this.#remember('');
    this.#job = this.#trouble = this.#fault = undefined;
    this.#render();
    this.#ui.button.focus();
  }

  // Asking.

  #ask() {
    if (this.#panel || this.#busy || this.#ui.button.disabled) return;
    this.#intent = undefined;
    this.#panel = new Panel({
      language: this.#language, dataset: this.#dataset, format: this.getAttribute('format') === 'csv' ? 'csv' : 'xlsx',
      signIn: this.#signInURL, words: (p) => this.#words(p), call: (path, options) => this.#call(path, options),
      columns: () => parseColumns(this.getAttribute('columns')),
      order: () => {
        const { filter, sort, order } = parseFilter(this.getAttribute('filter'));
        return { dataset: this.#dataset, filter, sort: this.getAttribute('sort') || sort, order: this.getAttribute('order') || order, language: this.#language };
      },
      start: async (body) => {
        const response = await this.#call('/api/v1/exports', { method: 'POST', body, key: this.#keyOf(body) });
        this.#started(await response.json());
      },
    }, () => {
      this.#panel = undefined;
      this.#render();
      (this.#ui.button.disabled ? this.#ui.card : this.#ui.button).focus();
    });
    this.shadowRoot?.append(this.#panel.dialog);
    this.#panel.open();
    this.#render();
  }

  // The page's side.

  #build() {
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(css);
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    const label = h('span');
    const ui = this.#ui = {
      label,
      button: h('button', { type: 'button', class: 'main', part: 'button', 'aria-haspopup': 'dialog', onclick: () => this.#ask() }, icon(), label),
      head: h('span', { part: 'status' }), percent: h('span', { class: 'percent' }), fill: h('div', { part: 'progress-fill' }),
      detail: h('p', { class: 'detail', part: 'detail' }), more: h('p', { class: 'detail', part: 'detail' }),
      download: h('a', { class: 'act main', part: 'download', download: '', onclick: (/** @type {Event} */ e) => this.#download(e) }),
      signIn: h('a', { class: 'act main', part: 'sign-in' }),
      again: h('button', { type: 'button', part: 'retry', onclick: () => this.#again() }),
      cancel: h('button', { type: 'button', part: 'cancel', onclick: () => this.#cancel() }),
      close: h('button', { type: 'button', part: 'close', onclick: () => this.#dismiss() }),
      live: h('div', { class: 'live', 'aria-live': 'polite' }),
      bar: /** @type {any} */ (undefined), card: /** @type {any} */ (undefined),
    };
    ui.bar = h('div', { class: 'bar', part: 'progress', role: 'progressbar', 'aria-valuemin': '0', 'aria-valuemax': '100' }, ui.fill);
    ui.card = h('div', { class: 'card', part: 'card', role: 'group', tabindex: '-1' },
      h('div', { class: 'head' }, ui.head, ui.percent), ui.bar, ui.detail, ui.more,
      h('div', { class: 'actions' }, ui.download, ui.signIn, ui.again, ui.cancel, ui.close));
    root.append(ui.button, ui.card, ui.live);
  }

  #render() {
    const ui = this.#ui, t = this.#t, job = this.#job, trouble = this.#trouble, fault = this.#fault;
    if (!ui) return;
    const alive = job && !final(job) && !trouble;
    const focused = /** @type {HTMLElement | null} */ (this.shadowRoot?.activeElement);
    ui.label.textContent = alive ? t.exporting : t.export;
    ui.button.disabled = Boolean(alive || this.#panel || this.#busy);
    ui.card.hidden = !job && !trouble;
    ui.card.dataset.kind = trouble || !job ? 'trouble' : job.status;
    for (const name of ['download', 'signIn', 'again', 'cancel', 'close']) ui[name].textContent = t[/** @type {'close'} */ (name)];
    if (job?.status === 'expired' || job?.status === 'canceled') ui.again.textContent = t.anew;
    const [head, detail, more] = trouble || !job ? [trouble ? this.#words(trouble) : '', trouble?.detail ?? '', ''] : this.#describe(job);
    ui.head.textContent = head;
    ui.detail.textContent = detail;
    ui.more.textContent = this.#lost ? t.lost : fault ? `${this.#words(fault)} ${fault.detail}` : more;
    ui.more.hidden = !ui.more.textContent;
    ui.detail.hidden = !detail;
    const running = alive && job.status === 'running';
    ui.bar.hidden = !running;
    ui.percent.textContent = running ? `${job.percent} %` : '';
    ui.bar.setAttribute('aria-valuenow', String(job?.percent ?? 0));
    ui.bar.setAttribute('aria-label', head);
    ui.bar.setAttribute('aria-valuetext', `${job?.percent ?? 0} %. ${detail}`);
    ui.fill.style.transform = `scaleX(${(job?.percent ?? 0) / 100})`;
    ui.download.hidden = job?.status !== 'succeeded';
    if (!ui.download.hidden) ui.download.href = this.#href;
    ui.signIn.hidden = (trouble ?? fault)?.status !== 401 || !this.#signInURL;
    ui.signIn.href = this.#signInURL;
    ui.again.hidden = !job || !['failed', 'canceled', 'expired'].includes(job.status);
    ui.cancel.hidden = !alive;
    ui.close.hidden = Boolean(alive);
    ui.cancel.disabled = ui.again.disabled = this.#busy;
    if (focused?.closest('.card [hidden]')) (ui.card.querySelector('.actions > :not([hidden], :disabled)') ?? ui.card).focus();
    this.#say(job, head, detail);
  }

  get #signInURL() {
    return this.#bearer || !this.#sameOrigin ? '' : `${this.#base}/auth/login?return_to=${encodeURIComponent(location.pathname + location.search)}`;
  }

  /** Announces sparsely: a change of state, and each tenth of the way.
   * @param {Job | undefined} job @param {string} head @param {string} detail */
  #say(job, head, detail) {
    const running = job?.status === 'running' && !this.#trouble;
    const text = running ? `${head} ${Math.floor(job.percent / 10) * 10} %` : [head, detail].filter(Boolean).join('. ');
    const mark = running ? `${job.id} ${Math.floor(job.percent / 10)}` : text;
    if (mark === this.#said) return;
    this.#said = mark;
    this.#ui.live.textContent = text;
  }

  /** @param {Job} job @returns {string[]} head, detail and what else there is to know */
  #describe(job) {
    const t = this.#t, n = (/** @type {number} */ x) => this.#number(x);
    switch (job.status) {
      case 'queued': {
        const failed = job.failure ? t.repeat + job.failure.message : '';
        if (job.notice?.code === 'no-worker') return [t.noWorker, put(t.noWorkerSince, this.#when(job.notice.since)), failed];
        return [t.queued, job.place === 1 ? t.next : job.place ? put(t.place, n(job.place)) : '', failed];
      }
      case 'running': {
        const left = job.phase === 'fetch' ? this.#left(job.rows_written, job.rows_expected, performance.now()) : undefined;
        const rows = job.rows_expected ? t.of(n(job.rows_written), n(job.rows_expected)) : '';
        return [t[job.phase ?? 'snapshot'], [rows, left === undefined ? '' : put(t.left, formatSeconds(left, this.#language))].filter(Boolean).join(' · '), ''];
      }
      case 'succeeded': {
        const parts = [job.receipt && formatBytes(job.receipt.bytes, this.#language), put(t.nRows, n(job.rows_written)), job.expires_at && put(t.until, this.#when(job.expires_at))];
        return [t.succeeded, parts.filter(Boolean).join(' · '), ''];
      }
      case 'failed': return [t.failed, job.failure?.message ?? '', job.failure?.code === 'invalid' ? t.failedInvalid : put(t.failedDo, job.id)];
      case 'expired': return [t.expired, t.expiredDo, ''];
      default: return [t.canceled, '', ''];
    }
  }

  /** @param {Problem} p */
  #words(p) {
    const t = this.#t;
    switch (p.status) {
      case 0: return t.offline;
      case 401: return t.denied;
      case 403: return t.forbidden;
      case 404: case 410: return t.gone;
      case 429: case 503: return put(t.busy, formatSeconds(retryDelay(2, p.retryAfter), this.#language));
      default: return t.trouble;
    }
  }
}

if (globalThis.customElements && !customElements.get('export-button')) customElements.define('export-button', ExportButton);
