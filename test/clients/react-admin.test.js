// react-admin's data provider ra-data-json-server, as published, against Rowmill.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fetchUtils } from "ra-core";
import jsonServerProvider from "ra-data-json-server";
import { known, reservations, sorted } from "./sample.js";
import { apiUrl, authorization } from "./server.js";

// The way that react-admin's manual adds a token.
const provider = jsonServerProvider(apiUrl, (url, options = {}) =>
  fetchUtils.fetchJson(url, { ...options, user: { authenticated: true, token: authorization } }));
const resource = "reservations";

const filters = [
  ["one value", { status: "No-Show" }, (r) => r.status === "No-Show"],
  ["one of several", { country: ["KOR", "JPN"] }, (r) => ["KOR", "JPN"].includes(r.country)],
  ["ne", { status_ne: "Check-Out" }, (r) => r.status !== "Check-Out"],
  ["gte and lte", { check_in_gte: "2016-02-28", check_in_lte: "2016-03-01" }, (r) => r.check_in >= "2016-02-28" && r.check_in <= "2016-03-01"],
  ["like, which is a prefix search here", { code_like: "000012" }, (r) => r.code.startsWith("000012")],
  ["q, over codes and names", { q: "000119" }, (r) => r.code.startsWith("000119")],
  ["several fields", { property: "Resort Hotel", status: "Canceled", adults_gte: 4 }, (r) => r.property === "Resort Hotel" && r.status === "Canceled" && r.adults >= 4],
  ["no country", { country_null: true }, (r) => r.country === null],
];

for (const [name, filter, matches] of filters) {
  test(`getList filters by ${name}`, async () => {
    const want = sorted(matches, "check_in", "desc");
    assert.ok(want.length > 0);
    const { data, total } = await provider.getList(resource, { filter, sort: { field: "check_in", order: "DESC" }, pagination: { page: 1, perPage: 25 } });
    assert.equal(total, want.length);
    assert.deepEqual(data.map((row) => row.id), want.slice(0, 25).map((row) => row.id));
  });
}

for (const [field, order] of [["id", "DESC"], ["status", "ASC"], ["check_in", "ASC"], ["nights", "DESC"]]) {
  test(`getList's pages by ${field}, ${order}, join without gap and repeat`, async () => {
    const want = sorted((r) => r.country === "NOR", field, order.toLowerCase());
    const got = [];
    for (let page = 1; ; page++) {
      const { data, total } = await provider.getList(resource, { filter: { country: "NOR" }, sort: { field, order }, pagination: { page, perPage: 100 } });
      assert.equal(total, want.length);
      if (data.length === 0) break;
      got.push(...data.map((row) => row.id));
    }
    assert.deepEqual(got, want.map((row) => row.id));
  });
}

test("getOne", async () => {
  const { data } = await provider.getOne(resource, { id: 40061 });
  assert.deepEqual(known(data), reservations[40060]);
});

test("getMany gives those that there are", async () => {
  const { data } = await provider.getMany(resource, { ids: [119390, 7, 40060, 999999] });
  assert.deepEqual(data.map((row) => row.id).sort((a, b) => a - b), [7, 40060, 119390]);
});

test("getManyReference gives a property's reservations, page by page", async () => {
  const want = sorted((r) => r.property_id === 2 && r.status === "No-Show", "nights", "desc");
  for (const page of [1, 2]) {
    const { data, total } = await provider.getManyReference(resource, {
      target: "property_id", id: 2, filter: { status: "No-Show" }, sort: { field: "nights", order: "DESC" }, pagination: { page, perPage: 30 },
    });
    assert.equal(total, want.length);
    assert.deepEqual(data.map((row) => row.id), want.slice((page - 1) * 30, page * 30).map((row) => row.id));
  }
});

for (const [name, status, call] of [
  ["a reservation that is not there", 404, () => provider.getOne(resource, { id: 999999 })],
  ["a field that is not there", 400, () => provider.getList(resource, { filter: { colour: "red" }, sort: { field: "id", order: "ASC" }, pagination: { page: 1, perPage: 10 } })],
  ["a list that cannot be sorted so", 400, () => provider.getList(resource, { filter: {}, sort: { field: "memo", order: "ASC" }, pagination: { page: 1, perPage: 10 } })],
]) {
  test(`${name} is an error with its status and a message`, async () => {
    await assert.rejects(call, (error) => {
      assert.equal(error.status, status);
      assert.match(error.message, /\w+ .*\./);
      return true;
    });
  });
}
