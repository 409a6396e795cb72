package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"rowmill/export"
)

// linkLife is how long a signed link leads to its file.
const linkLife = 10 * time.Minute

// links makes and reads the tokens of signed links. Who bears one may read one file
// of one job until it expires, and nothing else.
//
// A token is, in unpadded base64url, the HMAC-SHA256 of what follows it, then the
// expiry in Unix seconds, a digest that binds the file's key and the job's owner
// (neither is told to whoever reads the address), and the job's id.
type links struct {
	mac func(text []byte) []byte // holds the key, which a printed links does not show
}

func newLinks(key []byte) links {
	return links{mac: func(text []byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte("rowmill file link 1\x00")) // a tag made for another purpose is none here
		h.Write(text)
		return h.Sum(nil)
	}}
}

const (
	linkExpiry = 8
	linkBound  = 16
	linkHead   = sha256.Size + linkExpiry + linkBound
	maxLinkID  = 64 // bytes of a job's id
)

// link is a token that is authentic.
type link struct {
	jobID   string
	expires time.Time
	bound   []byte
}

var errLink = errors.New("the token is not one of ours")

// token gives the token of the job's file.
func (l links) token(job export.Job, expires time.Time) string {
	text := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	text = append(text, boundTo(job)...)
	text = append(text, job.ID...)
	return base64.RawURLEncoding.EncodeToString(append(l.mac(text), text...))
}

// read gives what an authentic token says; it may have expired.
func (l links) read(token string) (link, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) <= linkHead || len(raw) > linkHead+maxLinkID {
		return link{}, errLink
	}
	tag, text := raw[:sha256.Size], raw[sha256.Size:]
	if !hmac.Equal(tag, l.mac(text)) {
		return link{}, errLink
	}
	return link{
		expires: time.Unix(int64(binary.BigEndian.Uint64(text)), 0),
		bound:   text[linkExpiry : linkExpiry+linkBound],
		jobID:   string(text[linkExpiry+linkBound:]),
	}, nil
}

// leadsTo reports whether the link was made for the file that the job has.
func (l link) leadsTo(job export.Job) bool {
	return job.File != nil && hmac.Equal(l.bound, boundTo(job))
}

// boundTo digests the file's key, which carries the attempt, and the owner.
func boundTo(job export.Job) []byte {
	sum := sha256.Sum256([]byte(job.File.Key + "\x00" + job.RequestedBy))
	return sum[:linkBound]
}
