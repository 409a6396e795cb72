package jobs

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"rowmill/export"
)

// A task that the release before has sent is read, and what is sent is what it
// reads: testdata/run-v1.json is a payload of its making.
func TestTasksOfTheReleaseBefore(t *testing.T) {
	payload, err := os.ReadFile("testdata/run-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := readPayload[runPayload](asynq.NewTask("export:run", payload))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runPayload{Version: 1, JobID: "01JDVX8M5T9Q4Z", Attempt: 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	task, err := newRunTask(export.Job{ID: "01JDVX8M5T9Q4Z", Attempt: 2, Queue: export.QueueSmall})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bytes.TrimSpace(payload)), string(task.Payload())); diff != "" || task.Type() != "export:run" {
		t.Errorf("a task %s is sent (-want +got):\n%s", task.Type(), diff)
	}
}

func TestATaskThatCannotBeReadIsRefusedInWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"v":2,"job_id":"a","attempt":1}`: "version 2 is not readable here",
		`{"v":1,"attempt":1}`:              "lacks the job",
		`{"v":1,"job_id":"a"}`:             "lacks the job",
		`no json`:                          "not JSON",
	} {
		_, err := readPayload[runPayload](asynq.NewTask(TypeRun, []byte(body)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}
