package web

// homeTexts are those of the home board.
var homeTexts = map[string]text{
	"nav.home":           {"홈", "Home"},
	"home.title":         {"홈", "Home"},
	"home.lead":          {"지금 손님에게 보이는 구역과, %s에 판매할 수 있는 객실 수입니다.", "The sections that guests see now, and how many units are free on %s."},
	"home.date":          {"날짜", "Date"},
	"home.show":          {"보기", "Show"},
	"home.free":          {"예약 가능 %s", "%s free"},
	"home.sum":           {"예약 가능 합계 %s", "%s free in all"},
	"home.none.title":    {"지금 보이는 구역이 없습니다", "No section is visible now"},
	"home.none.text":     {"데이터를 가져오면 홈 화면이 만들어집니다.", "A board is made up when data are imported."},
	"home.kind.banner":   {"배너", "Banner"},
	"home.kind.notice":   {"공지", "Notice"},
	"home.kind.carousel": {"슬라이드", "Carousel"},
	"home.kind.grid":     {"모음", "Grid"},
	"home.kind.ranking":  {"순위", "Ranking"},
}
