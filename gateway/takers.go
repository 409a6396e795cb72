package gateway

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"rowmill/audit"
)

// TakingView is a file that a reservation went out in.
type TakingView struct {
	JobID    string    `json:"job_id"`
	By       string    `json:"by" doc:"Subject of who asked for the file"`
	ByName   string    `json:"by_name,omitempty"`
	At       time.Time `json:"at" doc:"When the file was ready"`
	Dataset  string    `json:"dataset"`
	Columns  []string  `json:"columns" nullable:"false"`
	Personal bool      `json:"personal" doc:"Personal data in the clear"`
	Reason   string    `json:"reason,omitempty"`
	Rows     int64     `json:"rows" doc:"Of the file"`
	Bytes    int64     `json:"bytes" doc:"Of the file"`
	SHA256   string    `json:"sha256" doc:"Of the file"`

	DownloadCount int         `json:"download_count" doc:"Times that the file, or a part of it, was read"`
	Downloads     []EventView `json:"downloads" nullable:"false" doc:"The last of these, newest first; at most 100"`
}

func takingView(ctx context.Context, t audit.Taking) TakingView {
	v := TakingView{
		JobID: t.JobID, By: t.By, ByName: t.ByName, At: t.At, Dataset: t.Dataset, Columns: t.Columns,
		Personal: t.Personal, Reason: t.Reason, Rows: t.Rows, Bytes: t.Bytes, SHA256: t.SHA256,
		DownloadCount: t.DownloadCount, Downloads: make([]EventView, len(t.Downloads)),
	}
	for i, e := range t.Downloads {
		v.Downloads[i] = eventView(ctx, e)
	}
	return v
}

type takersInput struct {
	ID     int64  `path:"id" minimum:"1" doc:"The reservation's id"`
	Before string `query:"before" maxLength:"64" doc:"Id of a job: the page has those older than it"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The most files of the page"`
}

type takersOutput struct {
	Link string       `header:"Link" doc:"The next page, rel=next, if there may be one"`
	Body []TakingView `nullable:"false"`
}

func (s *Server) reservationTakers(ctx context.Context, in *takersInput) (*takersOutput, error) {
	takings, err := s.cfg.Takers.Takers(ctx, audit.TakersQuery{Dataset: reservationsName, ID: in.ID, Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, fmt.Errorf("look for the takers of reservation %d: %w", in.ID, err)
	}
	id := strconv.FormatInt(in.ID, 10)
	if err := s.recordReading(ctx, "reservation", url.Values{"reservation": {id}}); err != nil {
		return nil, err
	}
	out := &takersOutput{Body: make([]TakingView, len(takings))}
	for i, t := range takings {
		out.Body[i] = takingView(ctx, t)
	}
	if len(takings) == in.Limit {
		out.Link = s.nextLink(auditPath+"/reservations/"+id, url.Values{}, takings[len(takings)-1].JobID, in.Limit)
	}
	return out, nil
}
