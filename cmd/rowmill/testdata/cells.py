"""Read an exported Excel file with openpyxl and print each cell with its kind, a list a row, as JSON.

A cell is null where there is none, else a kind and a value: s for text, n for a number, d for a date.
"""
import datetime
import json
import sys

import openpyxl


def told(value):
    if value is None:
        return None
    if isinstance(value, str):
        return "s:" + value
    if isinstance(value, datetime.datetime):
        return "d:" + value.isoformat(" ")
    return "n:" + repr(value)


book = openpyxl.load_workbook(sys.argv[1])
print(json.dumps({s.title: [[told(c.value) for c in row] for row in s.iter_rows()] for s in book.worksheets}))
