import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventReader, fileNameOf, formatBytes, formatSeconds, parseColumns, parseFilter, retryDelay, timeLeft } from './export-button.js';

for (const [text, want] of [
  [null, { filter: {} }],
  ['', { filter: {} }],
  ['{"status":["Canceled","No-Show"],"nights_gte":2,"q":"김","agent_null":true,"code":null}',
    { filter: { status: ['Canceled', 'No-Show'], nights_gte: ['2'], q: ['김'], agent_null: ['true'] } }],
  ['?status=Canceled&status=No-Show&q=%EA%B9%80&_sort=check_in&_order=desc&_start=0&_end=20',
    { filter: { status: ['Canceled', 'No-Show'], q: ['김'] }, sort: 'check_in', order: 'desc' }],
  ['https://gateway.example/api/v1/reservations?id=1&_page=2', { filter: { id: ['1'] } }],
  ['__proto__x=1&q=a%20b', { filter: { q: ['a b'] } }],
]) {
  test(`filter ${text}`, () => {
    const { filter, sort, order } = parseFilter(text);
    assert.deepEqual({ ...filter }, want.filter);
    assert.deepEqual([sort, order], [want.sort, want.order]);
  });
}

test('a filter that only looks like JSON is refused', () => assert.throws(() => parseFilter('{"a":'), SyntaxError));

test('columns come once, in their order', () => {
  assert.deepEqual(parseColumns(' id, code,id  status '), ['id', 'code', 'status']);
  assert.deepEqual(parseColumns('["code","id"]'), ['code', 'id']);
  assert.deepEqual(parseColumns(undefined), []);
});

for (const [failures, header, want] of [
  [0, null, 1], [1, null, 2], [4, null, 16], [5, null, 30], [5000, null, 30],
  [3, '7', 7], [0, '0', 0], [2, 'Mon, 30 Nov 2026 09:00:05 GMT', 5], [2, 'Mon, 30 Nov 2026 08:00:00 GMT', 0], [1, 'soon', 2],
]) {
  test(`delay after ${failures} failures, Retry-After ${header}`, () => {
    assert.equal(retryDelay(failures, header, { random: 0, now: Date.parse('2026-11-30T09:00:00Z') }), want);
  });
}

test('delays are spread over a quarter', () => assert.equal(retryDelay(0, null, { random: 1 }), 0.75));

test('time left follows the measured rate', () => {
  const left = timeLeft();
  assert.equal(left(0, 10_000, 0), undefined);
  assert.equal(left(1000, 10_000, 1000), 9);
  assert.equal(left(2000, 10_000, 2000), 8);
  const slower = left(2100, 10_000, 3000); // 100 rows in a second do not turn it over at once
  assert.ok(slower > 8 && slower < 79, `${slower}`);
});

test('time left waits out what is too short to measure, and begins again with another attempt', () => {
  const left = timeLeft();
  left(0, 100, 0);
  assert.equal(left(50, 100, 100), undefined);
  assert.equal(left(50, 100, 1000), 1);
  assert.equal(left(0, 100, 2000), undefined);
  assert.equal(left(10, 100, 3000), 9);
});

test('events come whole, however the text is cut', () => {
  const stream = 'event: job\ndata: {"a":1}\n\n: still here\n\ndata: x\r\ndata: y\r\n\r\nevent: job\ndata: cut off';
  for (let size = 1; size < stream.length; size++) {
    const got = [];
    const push = eventReader((event, data) => got.push([event, data]));
    for (let i = 0; i < stream.length; i += size) push(stream.slice(i, i + size));
    assert.deepEqual(got, [['job', '{"a":1}'], ['message', 'x\ny']], `pieces of ${size}`);
  }
});

test('file names', () => {
  assert.equal(fileNameOf(`attachment; filename="_.xlsx"; filename*=UTF-8''%EC%98%88%EC%95%BD.xlsx`), '예약.xlsx');
  assert.equal(fileNameOf('attachment; filename="a b.csv"'), 'a b.csv');
  assert.equal(fileNameOf(`attachment; filename=a.csv; filename*=UTF-8''%E0`), 'a.csv');
  assert.equal(fileNameOf(null), '');
});

test('sizes and times are written for their reader', () => {
  assert.equal(formatBytes(12), '12 bytes');
  assert.equal(formatBytes(5_123_456), '5.12 MB');
  assert.equal(formatBytes(5_123_456, 'ko'), '5.12MB');
  assert.equal(formatBytes(2e15), '2,000,000 GB');
  assert.equal(formatSeconds(0.2), '1 sec');
  assert.equal(formatSeconds(59), '59 sec');
  assert.equal(formatSeconds(90), '2 min');
  assert.equal(formatSeconds(7200, 'ko'), '2시간');
});
