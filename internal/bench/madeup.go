package bench

import (
	"math/rand/v2"
	"strconv"

	"rowmill/internal/table"
)

var (
	statuses  = []string{"CONFIRMED", "PENDING", "CANCELED", "NO_SHOW", "COMPLETED"}
	guests    = []string{"김민서", "이도현", "박지우", "최하윤", "정예린", "Emma Smith", "José García", "Søren O'Brien", "田中 結衣", "Chloé Müller"}
	shops     = []string{"서울 바다 호텔 & Café", "부산 햇살 리조트", "제주 숲속 펜션", "강릉 Ocean 호텔", "여수 달빛 스파", "Porto Garden House"}
	products  = []string{"디럭스 더블룸", "스탠다드 트윈룸", "오션뷰 온돌방", "프리미엄 바비큐 패키지", "Deluxe Spa & Breakfast", "Queen Late check-out"}
	methods   = []string{"CARD", "KAKAOPAY", "NAVERPAY", "BANK_TRANSFER", "POINT", "ONSITE"}
	domains   = []string{"@gmail.example", "@naver.example", "@daum.example", "@kakao.example"}
	memoParts = []string{"늦은 체크인 요청", "아기 침대", "금연 객실 부탁드립니다", "late arrival, please call before", "VIP 재방문 고객", "주차 1대",
		"quiet room", "<b>높은 층</b>", "A & B", "=1+1", "🎉 생일", "\n", "5 > 3", "don't \"disturb\"", "😀"}
)

const (
	madeUpStart  = 20_454 // 2026-01-01 in days since 1970-01-01
	microsPerDay = 24 * 60 * 60 * 1_000_000
)

// madeUp makes count rows from number first on: cheap, and the same whatever
// page they are made in.
func madeUp(first, count, columns int) []table.Row {
	rows := make([]table.Row, count)
	slab := make([]table.Value, count*columns)
	var whole [20]table.Value
	for i := range rows {
		n := int64(first + i)
		madeUpRow(&whole, n)
		values := slab[i*columns : (i+1)*columns : (i+1)*columns]
		copy(values, whole[:])
		rows[i] = table.Row{Key: n, Values: values}
	}
	return rows
}

func madeUpRow(v *[20]table.Value, n int64) {
	var d rand.PCG
	d.Seed(seed, uint64(n))
	below := func(limit int) int { return int(d.Uint64() % uint64(limit)) }
	pick := func(from []string) table.Value { return table.TextOf(from[below(len(from))]) }
	var buf [64]byte
	day, nights := int64(madeUpStart+below(365)), int64(1+below(5))
	list := int64(30_000+below(90)*5_000)*100*nights + int64(below(4))*25
	discount := int64(0)

	v[0] = table.IntegerOf(7_000_000_000 + n)
	v[1] = table.TextOf(string(padded(append(buf[:0], "R2026"...), n*7919%10_000_000_000, 10)))
	v[2] = pick(statuses)
	v[3] = pick(guests)
	v[4] = table.TextOf(string(padded(append(padded(append(buf[:0], "010-"...), int64(below(10_000)), 4), '-'), int64(below(10_000)), 4)))
	v[5] = table.TextOf(string(append(strconv.AppendInt(append(buf[:0], "user"...), int64(below(2_000_000)), 10), domains[below(len(domains))]...)))
	v[6] = pick(shops)
	v[7] = pick(products)
	v[8], v[9] = table.DateOf(day), table.DateOf(day+nights)
	v[10], v[11] = table.IntegerOf(nights), table.IntegerOf(int64(1+below(6)))
	v[14] = table.Null()
	if below(100) < 30 {
		discount = list * int64(5+below(25)) / 100
		v[14] = table.TextOf(string(padded(append(buf[:0], "CP-"...), int64(below(100_000_000)), 8)))
	}
	v[12], v[13], v[15] = table.DecimalOf(list, 2), table.DecimalOf(discount, 2), table.DecimalOf(list-discount, 2)
	v[16] = pick(methods)
	created := day*microsPerDay - int64(below(90*24*60*60))*1_000_000
	v[17], v[18] = table.Null(), table.TimeOfMicro(created)
	if below(100) < 85 {
		v[17] = table.TimeOfMicro(created + int64(below(7200))*1_000_000)
	}
	v[19] = table.TextOf(madeUpMemo(below))
}

// padded appends n in at least digits digits.
func padded(b []byte, n int64, digits int) []byte {
	limit := int64(1)
	for range digits - 1 {
		limit *= 10
	}
	for ; n < limit && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// madeUpMemo is empty in two rows of five, and else a few parts of a sentence.
func madeUpMemo(below func(int) int) string {
	if below(100) >= 60 {
		return ""
	}
	var buf [512]byte
	b := buf[:0]
	for range 1 + below(6) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, memoParts[below(len(memoParts))]...)
	}
	return string(b)
}
