/*
 * The work of an export as a hand-made program does it: one SELECT that joins the
 * ten tables, read row by row, written with libxlsxwriter in its constant-memory
 * mode. No service in between, no snapshot that outlives the statement, no check
 * of the file. Held against Rowmill by run.sh.
 *
 *     cc -O2 join.c $(mariadb_config --include --libs) -lxlsxwriter -o join
 *     ./join HOST PORT USER PASSWORD DATABASE OUT.xlsx
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xlsxwriter.h>

enum kind { TEXT, NUMBER, MINOR, DAY, MOMENT };

struct column {
	const char *title;
	enum kind kind;
	double width;
	const char *sql;
};

/* The default columns of an export, in their order. */
static const struct column columns[] = {
	{"ID", NUMBER, 10, "r.id"},
	{"Reservation", TEXT, 12, "r.code"},
	{"Status", TEXT, 11, "r.status"},
	{"Property", TEXT, 16, "po.name"},
	{"Product", TEXT, 24, "pr.name"},
	{"Channel", TEXT, 24, "ch.name"},
	{"Agent", TEXT, 24, "ag.name"},
	{"Booked on", DAY, 12, "r.booked_on"},
	{"Check-in", DAY, 12, "r.check_in"},
	{"Check-out", DAY, 12, "r.check_out"},
	{"Nights", NUMBER, 8, "r.nights"},
	{"Guest", TEXT, 18, "g.name"},
	{"Phone", TEXT, 17, "g.phone"},
	{"E-mail", TEXT, 28, "g.email"},
	{"Country", TEXT, 9, "g.country"},
	{"Adults", NUMBER, 8, "g.adults"},
	{"Children", NUMBER, 9, "g.children"},
	{"Babies", NUMBER, 8, "g.babies"},
	{"Amount", MINOR, 12, "p.amount_minor"},
	{"Payment terms", TEXT, 14, "p.terms"},
	{"Paid at", MOMENT, 20, "p.paid_at"},
	{"Canceled on", DAY, 12, "c.canceled_on"},
	{"Assigned room", TEXT, 10, "s.room_type"},
	{"Coupon", TEXT, 12, "u.code"},
	{"Memo", TEXT, 40, "r.memo"},
};

#define COLUMNS (sizeof columns / sizeof columns[0])

static const char *joins =
	" FROM reservations r"
	" LEFT JOIN properties po ON po.id = r.property_id LEFT JOIN products pr ON pr.id = r.product_id"
	" LEFT JOIN channels ch ON ch.id = r.channel_id LEFT JOIN agents ag ON ag.id = r.agent_id"
	" LEFT JOIN guests g ON g.reservation_id = r.id LEFT JOIN payments p ON p.reservation_id = r.id"
	" LEFT JOIN cancellations c ON c.reservation_id = r.id LEFT JOIN stays s ON s.reservation_id = r.id"
	" LEFT JOIN coupon_uses u ON u.reservation_id = r.id ORDER BY r.id";

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "join: %s: %s\n", what, why);
	exit(1);
}

static int digits(const char *s, int n)
{
	int v = 0;
	while (n-- > 0)
		v = v * 10 + (*s++ - '0');
	return v;
}

static lxw_datetime moment(const char *s, int with_time)
{
	lxw_datetime t = {digits(s, 4), digits(s + 5, 2), digits(s + 8, 2), 0, 0, 0};
	if (with_time) {
		t.hour = digits(s + 11, 2);
		t.min = digits(s + 14, 2);
		t.sec = digits(s + 17, 2);
	}
	return t;
}

static void cell(lxw_worksheet *sheet, lxw_row_t row, lxw_col_t col, const char *value, lxw_format *format)
{
	lxw_datetime t;

	switch (columns[col].kind) {
	case TEXT:
		worksheet_write_string(sheet, row, col, value, NULL);
		break;
	case NUMBER:
		worksheet_write_number(sheet, row, col, strtod(value, NULL), format);
		break;
	case MINOR:
		worksheet_write_number(sheet, row, col, strtod(value, NULL) / 100, format);
		break;
	case DAY:
	case MOMENT:
		t = moment(value, columns[col].kind == MOMENT);
		worksheet_write_datetime(sheet, row, col, &t, format);
		break;
	}
}

static MYSQL_RES *query(MYSQL *db)
{
	char sql[4096] = "SELECT ";
	for (size_t i = 0; i < COLUMNS; i++) {
		strcat(sql, i ? ", " : "");
		strcat(sql, columns[i].sql);
	}
	strcat(sql, joins);
	if (mysql_query(db, sql))
		fail("query", mysql_error(db));
	MYSQL_RES *rows = mysql_use_result(db);
	if (!rows)
		fail("query", mysql_error(db));
	return rows;
}

int main(int argc, char **argv)
{
	if (argc != 7)
		fail("usage", "join HOST PORT USER PASSWORD DATABASE OUT.xlsx");
	MYSQL *db = mysql_init(NULL);
	mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (!mysql_real_connect(db, argv[1], argv[3], argv[4], argv[5], atoi(argv[2]), NULL, 0))
		fail("connect", mysql_error(db));

	lxw_workbook_options options = {.constant_memory = LXW_TRUE};
	lxw_workbook *book = workbook_new_opt(argv[6], &options);
	lxw_worksheet *sheet = workbook_add_worksheet(book, "Reservations");
	const char *number_formats[] = {NULL, "0", "#,##0.00", "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"};
	lxw_format *formats[5] = {NULL}, *bold = workbook_add_format(book);
	format_set_bold(bold);
	for (int k = NUMBER; k <= MOMENT; k++) {
		formats[k] = workbook_add_format(book);
		format_set_num_format(formats[k], number_formats[k]);
	}
	worksheet_freeze_panes(sheet, 1, 0);
	for (size_t i = 0; i < COLUMNS; i++) {
		worksheet_set_column(sheet, i, i, columns[i].width, NULL);
		worksheet_write_string(sheet, 0, i, columns[i].title, bold);
	}

	MYSQL_RES *rows = query(db);
	MYSQL_ROW row;
	lxw_row_t n = 0;
	while ((row = mysql_fetch_row(rows))) {
		n++;
		for (size_t i = 0; i < COLUMNS; i++)
			if (row[i])
				cell(sheet, n, i, row[i], formats[columns[i].kind]);
	}
	if (mysql_errno(db))
		fail("read", mysql_error(db));
	worksheet_autofilter(sheet, 0, 0, n, COLUMNS - 1);
	lxw_error err = workbook_close(book);
	if (err)
		fail("write", lxw_strerror(err));
	printf("%u rows\n", n);
	mysql_free_result(rows);
	mysql_close(db);
	return 0;
}
