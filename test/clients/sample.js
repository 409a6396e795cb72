// The public sample as the file itself has it, read without Rowmill: what the
// clients' answers are held against. A reservation's id is its line's place, from 1.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const file = new URL("../../sample/hotel_bookings.csv.gz", import.meta.url);
const [header, ...lines] = gunzipSync(readFileSync(file)).toString("utf8").trimEnd().split("\n");
const place = Object.fromEntries(header.split(",").map((name, i) => [name, i]));
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

function reservation(line, i) {
  const fields = line.split(","); // no field of this file is in quotes
  const get = (name) => fields[place[name]];
  const twoDigits = (n) => String(n).padStart(2, "0");
  return {
    id: i + 1,
    code: String(i + 1).padStart(8, "0"),
    status: get("reservation_status"),
    property: get("hotel"),
    property_id: get("hotel") === "Resort Hotel" ? 1 : 2, // by first appearance in the file
    check_in: [get("arrival_date_year"), twoDigits(months.indexOf(get("arrival_date_month")) + 1), twoDigits(get("arrival_date_day_of_month"))].join("-"),
    nights: Number(get("stays_in_weekend_nights")) + Number(get("stays_in_week_nights")),
    country: get("country") === "NULL" ? null : get("country"),
    adults: Number(get("adults")),
  };
}

export const reservations = lines.map(reservation);

const keys = Object.keys(reservations[0]);

/** What both sides know of a row: its fields that the file itself has. */
export const known = (row) => Object.fromEntries(keys.map((key) => [key, row[key]]));

/** The rows that match, by a field and then by id, both in one direction. */
export function sorted(matches, field = "id", direction = "asc") {
  const sign = direction === "asc" ? 1 : -1;
  const compare = (a, b) => (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : a.id - b.id);
  return reservations.filter(matches).sort((a, b) => sign * compare(a, b));
}
