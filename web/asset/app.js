// The live parts of the pages: exports that run are followed, buttons of a job
// call the API, and an export that ends says so. Everything else is plain HTML.

const texts = JSON.parse(document.body.dataset.texts ?? '{}');
const say = (key, values = {}) => Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), texts[key] ?? key);
const announce = (text) => { document.getElementById('announce').textContent = text; };

// An export that has ended: the title counts those that nobody has looked at yet.
const title = document.title;
let unseen = 0;
function ended(job) {
  unseen += 1;
  document.title = `(${unseen}) ${title}`;
  const text = say(job.status);
  announce(text);
  if ('Notification' in window && Notification.permission === 'granted' && document.hidden) {
    const note = new Notification('Rowmill', { body: text, tag: job.id, lang: document.documentElement.lang });
    note.onclick = () => { window.focus(); note.close(); };
  }
}
function seen() {
  if (document.hidden || unseen === 0) return;
  unseen = 0;
  document.title = title;
}
for (const event of ['focus', 'pointerdown', 'keydown']) window.addEventListener(event, seen);
document.addEventListener('visibilitychange', seen);
document.addEventListener('export-done', (event) => { if (event.detail?.status) ended(event.detail); });

const notify = document.getElementById('notify');
if (notify && 'Notification' in window && Notification.permission === 'default') {
  notify.hidden = false;
  notify.addEventListener('click', async () => { await Notification.requestPermission(); notify.hidden = true; });
}

// A page that comes back out of the browser's memory, as after a sign-out, is asked
// for anew: whoever is there now may not be who read it.
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  document.documentElement.hidden = true;
  location.reload();
});

function trouble(text) {
  const box = document.getElementById('trouble');
  if (box) { box.textContent = text; box.hidden = !text; } else announce(text);
}

/** Calls the API. A problem comes as an error in the server's words. */
async function call(url, method = 'GET', body = undefined) {
  const headers = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(url, { method, headers, body, credentials: 'same-origin' });
  if (answer.ok) return answer.json();
  const problem = await answer.json().catch(() => ({}));
  const error = new Error(answer.status === 401 ? say('signin') : problem.detail || say('trouble'));
  error.status = answer.status;
  throw error;
}

// Each job that is alive is followed: the first ones by events, of which a browser
// keeps few connections, and the others by asking.
const streams = 2, every = 2000, patience = 30000;
const followed = new Map(); // by job: how to stop

function follow() {
  const rows = [...document.querySelectorAll('tr[data-alive]')];
  const alive = new Set(rows.map((row) => row.dataset.job));
  for (const [id, stop] of followed) if (!alive.has(id)) { stop(); followed.delete(id); }
  for (const id of alive) {
    if (followed.has(id)) continue;
    const events = [...followed.values()].filter((stop) => stop.events).length < streams;
    followed.set(id, events && 'EventSource' in window ? listen(id) : poll(id));
  }
}

function listen(id) {
  const source = new EventSource(`/api/v1/exports/${encodeURIComponent(id)}/events`);
  source.addEventListener('job', (event) => show(JSON.parse(event.data)));
  source.onerror = () => { // refused or cut: asking works where streams do not
    source.close();
    if (followed.has(id)) followed.set(id, poll(id));
  };
  const stop = () => source.close();
  stop.events = true;
  return stop;
}

function poll(id) {
  let timer, wait = every, stopped = false;
  const ask = async () => {
    try {
      const job = await call(`/api/v1/exports/${encodeURIComponent(id)}`);
      wait = every;
      trouble('');
      if (!stopped) show(job);
    } catch (error) {
      if (error.status === 404 || error.status === 403) return;
      wait = Math.min(wait * 2, patience);
      trouble(error.status === undefined ? say('offline') : error.message);
      if (error.status === 401) return;
    }
    if (!stopped) timer = setTimeout(ask, wait);
  };
  timer = setTimeout(ask, every);
  return () => { stopped = true; clearTimeout(timer); };
}

const numbers = new Intl.NumberFormat(document.documentElement.lang);
const heard = new Map(); // by job: the last quarter that was said

function show(job) {
  const row = document.getElementById(`job-${job.id}`);
  const alive = ['queued', 'running'].includes(job.status);
  if (!row) { elsewhere(job, alive); return; }
  if (!alive) {
    followed.get(job.id)?.();
    followed.delete(job.id);
    row.removeAttribute('data-alive'); // so that its end is told once
    ended(job);
    refresh();
    return;
  }
  const badge = row.querySelector('.badge');
  if (badge && badge.dataset.status !== job.status) { refresh(); return; }
  const bar = row.querySelector('progress');
  if (!bar) return;
  bar.value = job.percent;
  row.querySelector('.percent').textContent = `${job.percent} %`;
  row.querySelector('.rows').textContent = numbers.format(job.rows_written) + (job.rows_expected ? ` / ${numbers.format(job.rows_expected)}` : '');
  let phase = job.phase ? say(`phase.${job.phase}`) : '';
  if (job.place) phase = say('place', { n: job.place });
  if (job.notice?.code === 'no-worker') phase = say('noworker');
  row.querySelector('.phase').textContent = phase;
  const quarter = Math.floor(job.percent / 25);
  if (quarter > (heard.get(job.id) ?? 0)) { heard.set(job.id, quarter); announce(say('progress', { n: job.percent })); }
}

/** Takes the jobs anew from the server, which alone knows how a row looks. */
async function refresh() {
  const answer = await fetch(location.href, { credentials: 'same-origin' }).catch(() => null);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('jobs');
  const now = document.getElementById('jobs');
  if (!fresh || !now) return;
  const focused = document.activeElement?.closest('tr')?.id;
  const open = [...now.querySelectorAll('details[open]')].map((details) => details.closest('tr')?.id);
  now.replaceChildren(...fresh.childNodes);
  for (const id of open) if (id) document.getElementById(id)?.querySelector('details')?.setAttribute('open', '');
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.querySelector('.actions button, .actions a')?.focus();
  follow();
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('button[data-url], button[data-order]');
  if (!button) return;
  button.disabled = true;
  trouble('');
  try {
    if (button.dataset.order) {
      await call('/api/v1/exports', 'POST', button.dataset.order);
      location.assign('/exports');
      return;
    }
    await call(button.dataset.url, button.dataset.method);
    if (button.dataset.method === 'POST') announce(say('started'));
    await refresh();
  } catch (error) {
    trouble(error.status === undefined ? say('offline') : error.message);
  }
  button.disabled = false;
});

// What the button of another page started in this tab is followed here, where
// neither the button nor the history is, so that its end is told all the same.
const started = 'rowmill-export '; // the start of the button's keys; "done" behind a job says that it was told
const going = new Set();

function unfinished() {
  if (document.querySelector('export-button, #jobs')) return [];
  try {
    return Object.keys(sessionStorage).filter((key) => key.startsWith(started)).map((key) => [key, sessionStorage.getItem(key)]).filter(([, id]) => id && !id.includes(' '));
  } catch { return []; } // no storage
}

function elsewhere(job, alive) {
  if (alive) { going.add(job.id); return; }
  followed.get(job.id)?.();
  followed.delete(job.id);
  for (const [key, id] of unfinished()) if (id === job.id) sessionStorage.setItem(key, `${id} done`);
  if (job.status === 'succeeded' || going.has(job.id)) ended(job);
}

follow();
for (const [, id] of unfinished()) followed.set(id, listen(id));
