"""Read an exported Excel file with openpyxl and print what it holds as JSON."""
import collections
import json
import sys
from decimal import Decimal

import openpyxl

book = openpyxl.load_workbook(sys.argv[1], read_only=True)
sheets = book.worksheets[:-1]  # the last one is the export's info
statuses, ids, amount, header = collections.Counter(), [], Decimal(0), None
for sheet in sheets:
    rows = sheet.iter_rows(values_only=True)
    header = list(next(rows))
    at_id, at_status, at_amount = header.index("ID"), header.index("Status"), header.index("Amount")
    for row in rows:
        ids.append(row[at_id])
        statuses[row[at_status]] += 1
        amount += Decimal(repr(row[at_amount]))
info = {row[0]: row[1] for row in book.worksheets[-1].iter_rows(values_only=True)}
print(json.dumps({
    "rows": len(ids), "header": header, "amount": str(amount), "statuses": statuses,
    "first_id": ids[0] if ids else 0, "last_id": ids[-1] if ids else 0,
    "distinct_ids": len(set(ids)), "in_order": ids == sorted(ids), "sheets": book.sheetnames, "info": info,
}))
