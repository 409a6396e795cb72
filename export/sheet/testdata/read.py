"""Print every cell of a workbook as JSON, as openpyxl reads it."""
import datetime
import json
import sys

import openpyxl


def shown(value):
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return value


def cell(c):
    return {"ref": c.coordinate, "type": c.data_type, "value": shown(c.value), "format": c.number_format, "bold": bool(c.font.b)}


book = openpyxl.load_workbook(sys.argv[1])
json.dump([{
    "name": s.title,
    "frozen": s.freeze_panes,
    "filter": s.auto_filter.ref,
    "selected": bool(s.sheet_view.tabSelected),
    "width": s.column_dimensions["A"].width,
    "rows": s.max_row,
    "cells": [cell(c) for row in s.iter_rows() for c in row if c.value is not None],
} for s in book.worksheets], sys.stdout)
