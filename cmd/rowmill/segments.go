package main

import (
	"rowmill/export"
	"rowmill/repository"
)

// segments says how the worker of the given id cuts big jobs.
func (a *app) segments(worker string) export.Segments {
	table := repository.NewSegments(a.db)
	s := export.Segments{ResumeRows: a.cfg.ResumeRows, Files: a.files, Jobs: a.jobs,
		Plans: table, Claims: table, Sender: a.queue, Worker: worker, Count: a.metrics.Segment}
	if s.ResumeRows > 0 {
		s.SpreadRows = a.cfg.SpreadRows
	}
	return s
}
