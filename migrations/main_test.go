package migrations_test

import (
	"testing"

	"go.uber.org/goleak"

	"rowmill/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Around(m)) }
