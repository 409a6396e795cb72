package tracing

import (
	_ "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	_ "google.golang.org/protobuf/proto"
)
