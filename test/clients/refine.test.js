// refine's data provider @refinedev/simple-rest, as published, against Rowmill.
import assert from "node:assert/strict";
import { test } from "node:test";
import dataProvider, { axiosInstance } from "@refinedev/simple-rest";
import { known, reservations, sorted } from "./sample.js";
import { apiUrl, authorization } from "./server.js";

axiosInstance.defaults.headers.common.Authorization = authorization;
const provider = dataProvider(apiUrl);
const resource = "reservations";

const filters = [
  ["eq", [{ field: "status", operator: "eq", value: "No-Show" }], (r) => r.status === "No-Show"],
  ["ne", [{ field: "status", operator: "ne", value: "Check-Out" }], (r) => r.status !== "Check-Out"],
  ["gte of a date", [{ field: "check_in", operator: "gte", value: "2017-08-01" }], (r) => r.check_in >= "2017-08-01"],
  ["lte of a number", [{ field: "nights", operator: "lte", value: 0 }], (r) => r.nights <= 0],
  ["a range", [
    { field: "check_in", operator: "gte", value: "2016-02-28" },
    { field: "check_in", operator: "lte", value: "2016-03-01" },
  ], (r) => r.check_in >= "2016-02-28" && r.check_in <= "2016-03-01"],
  ["in, which the package sends as the field again and again", [{ field: "country", operator: "in", value: ["KOR", "JPN"] }], (r) => ["KOR", "JPN"].includes(r.country)],
  ["contains, which is a prefix search here", [{ field: "code", operator: "contains", value: "000012" }], (r) => r.code.startsWith("000012")],
  ["startswith, which the package sends as equal", [{ field: "code", operator: "startswith", value: "00001234" }], (r) => r.code === "00001234"],
  ["q, over codes and names", [{ field: "q", operator: "eq", value: "000119" }], (r) => r.code.startsWith("000119")],
  ["several fields", [
    { field: "property", operator: "eq", value: "Resort Hotel" },
    { field: "status", operator: "eq", value: "Canceled" },
    { field: "adults", operator: "gte", value: 4 },
  ], (r) => r.property === "Resort Hotel" && r.status === "Canceled" && r.adults >= 4],
  ["nothing that matches", [{ field: "country", operator: "eq", value: "ZZZ" }], () => false],
];

for (const [name, crud, matches] of filters) {
  test(`getList filters by ${name}`, async () => {
    const want = sorted(matches, "check_in", "desc");
    const { data, total } = await provider.getList({
      resource, filters: crud, sorters: [{ field: "check_in", order: "desc" }], pagination: { currentPage: 1, pageSize: 50 },
    });
    assert.equal(total, want.length);
    assert.deepEqual(data.map((row) => row.id), want.slice(0, 50).map((row) => row.id));
  });
}

test("the filters are worth their names", () => {
  for (const [name, , matches] of filters.slice(0, -1)) assert.ok(sorted(matches).length > 0, name);
});

test("getList without anything gives the first ten", async () => {
  const { data, total } = await provider.getList({ resource });
  assert.equal(total, reservations.length);
  assert.deepEqual(data.map((row) => row.id), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

for (const [field, order] of [["id", "desc"], ["code", "asc"], ["status", "asc"], ["check_in", "asc"], ["nights", "desc"]]) {
  test(`getList's pages by ${field}, ${order}, join without gap and repeat`, async () => {
    const matches = (r) => r.country === "NOR";
    const want = sorted(matches, field, order);
    const got = [];
    for (let currentPage = 1; ; currentPage++) {
      const { data, total } = await provider.getList({
        resource, filters: [{ field: "country", operator: "eq", value: "NOR" }], sorters: [{ field, order }], pagination: { currentPage, pageSize: 97 },
      });
      assert.equal(total, want.length);
      if (data.length === 0) break;
      got.push(...data.map((row) => row.id));
    }
    assert.deepEqual(got, want.map((row) => row.id));
  });
}

test("getList far into the list", async () => {
  const { data, total } = await provider.getList({ resource, sorters: [{ field: "id", order: "asc" }], pagination: { currentPage: 1194, pageSize: 100 } });
  assert.equal(total, reservations.length);
  assert.deepEqual(data.map((row) => row.id), reservations.slice(-90).map((row) => row.id));
});

test("getList with pages made by the client gives every row that matches", async () => {
  const want = sorted((r) => r.status === "No-Show");
  const { data, total } = await provider.getList({ resource, filters: [{ field: "status", operator: "eq", value: "No-Show" }], pagination: { mode: "client" } });
  assert.equal(total, want.length);
  assert.deepEqual(data.map((row) => row.id), want.map((row) => row.id));
});

test("getOne", async () => {
  const { data } = await provider.getOne({ resource, id: 40061 });
  assert.deepEqual(known(data), reservations[40060]);
});

test("getMany gives those that there are", async () => {
  const { data } = await provider.getMany({ resource, ids: [119390, 7, 40060, 999999] });
  assert.deepEqual(new Map(data.map((row) => [row.id, known(row).check_in])), new Map([6, 40059, 119389].map((i) => [reservations[i].id, reservations[i].check_in])));
});

test("custom", async () => {
  const { data } = await provider.custom({ url: `${apiUrl}/reservations`, method: "get", sorters: [{ field: "id", order: "desc" }], filters: [{ field: "nights", operator: "eq", value: 69 }], query: { _fields: "id,nights" } });
  assert.deepEqual(data, sorted((r) => r.nights === 69, "id", "desc").map(({ id, nights }) => ({ id, nights })));
});

for (const [name, status, call] of [
  ["a reservation that is not there", 404, () => provider.getOne({ resource, id: 999999 })],
  ["a field that is not there", 400, () => provider.getList({ resource, filters: [{ field: "colour", operator: "eq", value: "red" }] })],
  ["two sorts, of which one would be left out", 400, () => provider.getList({ resource, sorters: [{ field: "status", order: "asc" }, { field: "nights", order: "desc" }] })],
]) {
  test(`${name} is an error with its status and a message`, async () => {
    await assert.rejects(call, (error) => {
      assert.equal(error.statusCode, status);
      assert.match(error.message, /\w+ .*\./);
      return true;
    });
  });
}
