package ingest

import "strings"

// memo is NULL for half of the rows, the empty text for a tenth, a plain line for
// most of the rest, and for the others what breaks exports: line breaks, text that
// a spreadsheet takes for a formula, emoji, outer spaces, digits, long text.
func memo(d *dice) *string {
	var s string
	switch n := d.below(200); {
	case n < 100:
		return nil
	case n < 120:
	case n < 170:
		s = pick(d, plainMemos)
	case n < 199:
		s = pick(d, hardMemos)
	default:
		s = longMemo(d)
	}
	return &s
}

var plainMemos = []string{
	"늦은 체크인 요청", "높은 층 선호", "아기 침대 필요", "조용한 객실 부탁드립니다",
	"禁煙ルーム希望", "レイトチェックアウト希望", "駐車場を使います",
	"Late arrival", "Twin beds, please", "Quiet room, away from the lift", "Chão alto, se possível", "Anniversary",
}

var hardMemos = []string{
	"1박 후 객실 변경\n높은 층으로",
	"Allergies:\n- nuts\n- feather pillows\n\nCall before arrival.",
	"夕食は19時\r\n朝食は7時",
	"=1+1",
	"=HYPERLINK(\"https://example.com\",\"room\")",
	"+82 10",
	"-2+3",
	"@reception",
	"-0.02",
	"\tindented by a tab",
	"생일 축하 🎂🎉",
	"👨‍👩‍👧‍👦 가족 여행 🇰🇷",
	"  두 칸 띄움",
	"trailing spaces  ",
	"00123",
	"352776136104522888",
	"2024-02-30",
	"a, \"b\"; c <d> & 'e'",
	"Cafe\u0301, ﾊﾝｶｸ, ＺＥＲＯ\u200bwidth",
	"_x000D_",
}

// longMemo is 1,000 to 3,000 characters of plain lines, with line breaks.
func longMemo(d *dice) string {
	const shortest, spread = 1000, 1900 // a line is under 100 characters
	var b strings.Builder
	for want, n := shortest+d.below(spread), 0; n < want; {
		line := pick(d, plainMemos)
		b.WriteString(line)
		b.WriteByte('\n')
		n += len([]rune(line)) + 1
	}
	return b.String()
}
