package metrics

import "github.com/prometheus/client_golang/prometheus/testutil"

var _ = testutil.GatherAndLint
