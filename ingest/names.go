package ingest

// spelling is a common name in its script, and as an e-mail address has it.
type spelling struct{ script, latin string }

var koreanFamilies = []spelling{
	{"김", "kim"}, {"이", "lee"}, {"박", "park"}, {"최", "choi"}, {"정", "jung"}, {"강", "kang"}, {"조", "cho"}, {"윤", "yoon"},
	{"장", "jang"}, {"임", "lim"}, {"한", "han"}, {"오", "oh"}, {"서", "seo"}, {"신", "shin"}, {"권", "kwon"}, {"남궁", "namgung"},
}

var koreanGiven = []spelling{
	{"민준", "minjun"}, {"서준", "seojun"}, {"도윤", "doyun"}, {"예준", "yejun"}, {"지호", "jiho"}, {"주원", "juwon"}, {"현우", "hyunwoo"},
	{"서연", "seoyeon"}, {"서윤", "seoyun"}, {"지우", "jiwoo"}, {"하은", "haeun"}, {"수아", "sua"}, {"지민", "jimin"}, {"유진", "yujin"}, {"별", "byeol"},
}

var japaneseFamilies = []spelling{
	{"佐藤", "sato"}, {"鈴木", "suzuki"}, {"高橋", "takahashi"}, {"田中", "tanaka"}, {"伊藤", "ito"}, {"渡辺", "watanabe"}, {"山本", "yamamoto"},
	{"中村", "nakamura"}, {"小林", "kobayashi"}, {"加藤", "kato"}, {"吉田", "yoshida"}, {"佐々木", "sasaki"}, {"井上", "inoue"}, {"木村", "kimura"},
}

var japaneseGiven = []spelling{
	{"蓮", "ren"}, {"陽翔", "haruto"}, {"湊", "minato"}, {"大翔", "hiroto"}, {"健太", "kenta"}, {"翔太", "shota"}, {"陽菜", "hina"},
	{"葵", "aoi"}, {"結衣", "yui"}, {"さくら", "sakura"}, {"美咲", "misaki"}, {"凛", "rin"}, {"ユウト", "yuto"}, {"ﾐｶ", "mika"},
}

var latinFamilies = []spelling{
	{"Silva", "silva"}, {"Santos", "santos"}, {"Ferreira", "ferreira"}, {"Conceição", "conceicao"}, {"Simões", "simoes"}, {"Smith", "smith"},
	{"O'Brien", "obrien"}, {"Müller", "mueller"}, {"García", "garcia"}, {"Dubois", "dubois"}, {"De Vries", "devries"}, {"Rossi", "rossi"},
	{"Novák", "novak"}, {"Åström", "astrom"}, {"Smith-Jones", "smith-jones"},
}

var latinGiven = []spelling{
	{"João", "joao"}, {"Inês", "ines"}, {"Maria", "maria"}, {"António", "antonio"}, {"Beatriz", "beatriz"}, {"Emma", "emma"}, {"Oliver", "oliver"},
	{"Zoë", "zoe"}, {"Lukas", "lukas"}, {"François", "francois"}, {"Chloé", "chloe"}, {"Giulia", "giulia"}, {"José", "jose"}, {"Siobhán", "siobhan"},
}
