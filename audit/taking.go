package audit

import "time"

// Taking is a published file that a row went out in, and who read that file.
type Taking struct {
	JobID    string
	By       string    // subject of who asked for the file
	ByName   string    // "" if not known any more
	At       time.Time // when the file was published
	Dataset  string
	Columns  []string
	Personal bool // personal data in the clear
	Reason   string
	Rows     int64
	Bytes    int64
	SHA256   string

	DownloadCount int     // times that the file, or a part of it, was read
	Downloads     []Event // the last of these, newest first; at most MaxDownloads
}

// Bounds of an answer to who took a row out.
const (
	MaxTakings   = 200 // of one page
	MaxDownloads = 100 // of one taking
)

// TakersQuery asks which files a row went out in, newest job first.
type TakersQuery struct {
	Dataset string
	ID      int64  // the row's
	Before  string // id of a job: those that are older; "" for the newest
	Limit   int    // 1 to MaxTakings
}
