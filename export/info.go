package export

import (
	"fmt"
	"slices"
	"strings"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// words are the texts of a file in one language.
type words struct {
	info                                                               string
	dataset, madeBy, askedBy, zone, filter, all, sort, snapshot, pages string
	expected, written, deleted                                         string
	personal, noPersonal, masked, clear, reason                        string
	lossTitles                                                         [4]string
	lossNames                                                          map[sheet.LossKind]string
}

var english = words{
	info:    "Export info",
	dataset: "Dataset", madeBy: "Made by", askedBy: "Asked by", zone: "Time zone", filter: "Filter", all: "(all rows)", sort: "Order",
	snapshot: "Snapshot at (UTC)", pages: "Rows read (UTC)",
	expected: "Rows in the snapshot", written: "Rows written", deleted: "Rows deleted meanwhile",
	personal: "Personal data", noPersonal: "none in these columns", masked: "masked", clear: "in the clear", reason: "Reason",
	lossTitles: [4]string{"Sheet", "Row", "Column", "What"},
	lossNames: map[sheet.LossKind]string{sheet.Replaced: "characters replaced", sheet.Cut: "text cut", sheet.ZeroDate: "zero date left empty",
		sheet.DateAsText: "early date as text", sheet.DigitsAsText: "long number as text"},
}

var korean = words{
	info:    "내보내기 정보",
	dataset: "데이터", madeBy: "만든 프로그램", askedBy: "요청자", zone: "시간대", filter: "조건", all: "(전체)", sort: "정렬",
	snapshot: "기준 시각 (UTC)", pages: "행을 읽은 시각 (UTC)",
	expected: "기준 시각의 행 수", written: "기록한 행 수", deleted: "그사이 삭제된 행 수",
	personal: "개인정보", noPersonal: "이 열에는 없음", masked: "가림 처리됨", clear: "원본 그대로", reason: "사유",
	lossTitles: [4]string{"시트", "행", "열", "내용"},
	lossNames: map[sheet.LossKind]string{sheet.Replaced: "문자 바꿈", sheet.Cut: "글자 자름", sheet.ZeroDate: "빈 날짜",
		sheet.DateAsText: "글자로 쓴 날짜", sheet.DigitsAsText: "글자로 쓴 수"},
}

func wordsFor(language string) words {
	if language == "ko" {
		return korean
	}
	return english
}

// info is the last sheet: what the file is, from which moment, and what in it
// differs from the data.
func (a *attempt) info() sheet.Info {
	w, r, req := wordsFor(a.job.Request.Language), a.receipt, a.job.Request
	text := func(label, value string) sheet.InfoLine {
		return sheet.InfoLine{Label: label, Value: table.TextOf(value)}
	}
	count := func(label string, n int64) sheet.InfoLine {
		return sheet.InfoLine{Label: label, Value: table.IntegerOf(n)}
	}
	const second = "2006-01-02 15:04:05"
	read := "–"
	if r.Pages > 0 {
		read = r.FirstPageAt.UTC().Format(second) + " – " + r.LastPageAt.UTC().Format(second)
	}
	info := sheet.Info{
		Title: w.info,
		At:    a.cfg.Now(),
		Lines: []sheet.InfoLine{
			text(w.dataset, req.Dataset), text(w.madeBy, a.cfg.Product), text(w.askedBy, a.job.RequestedBy), text(w.zone, req.TimeZone),
			text(w.filter, filterText(req, w)), text(w.sort, strings.TrimSpace(req.Sort+" "+req.Order)),
			text(w.snapshot, r.SnapshotAt.UTC().Format(second)), text(w.pages, read),
			count(w.expected, r.Expected), count(w.written, r.Written), count(w.deleted, r.DeletedMeanwhile),
			text(w.personal, a.personalText(w)),
		},
		LossTitles: w.lossTitles,
		LossNames:  w.lossNames,
		Losses:     r.Losses,
	}
	if req.Reason != "" {
		info.Lines = append(info.Lines, text(w.reason, req.Reason))
	}
	return info
}

// personalText says how the file shows personal data.
func (a *attempt) personalText(w words) string {
	switch {
	case !slices.ContainsFunc(a.plan.columns, func(c Column) bool { return c.Personal != "" }):
		return w.noPersonal
	case a.job.Scope.Personal:
		return w.clear
	}
	return w.masked
}

func filterText(r Request, w words) string {
	if len(r.Filter) == 0 {
		return w.all
	}
	var terms []string
	for name, values := range r.Filter {
		terms = append(terms, fmt.Sprintf("%s = %s", name, strings.Join(values, ", ")))
	}
	slices.Sort(terms)
	return strings.Join(terms, "; ")
}
