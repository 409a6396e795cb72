package gateway_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/reservation"
)

type object = map[string]any

// operations gives the document and its operations by "METHOD /path".
func operations(t *testing.T) (doc object, ops map[string]object) {
	t.Helper()
	doc = decode[object](t, newWorld(t, audited(&fakeAudit{}, nil)).call("GET", "/openapi.json", "", "Authorization", "").Body)
	ops = map[string]object{}
	for path, entry := range doc["paths"].(object) {
		for method, op := range entry.(object) {
			ops[strings.ToUpper(method)+" "+path] = op.(object)
		}
	}
	return doc, ops
}

var pathParam = regexp.MustCompile(`:(\w+)`)

func TestTheDocumentHasTheRoutesAndNoOthers(t *testing.T) {
	_, ops := operations(t)
	var routes []string
	for _, r := range newWorld(t, audited(&fakeAudit{}, nil)).Routes() {
		routes = append(routes, r.Method+" "+pathParam.ReplaceAllString(r.Path, "{$1}"))
	}
	slices.Sort(routes)
	if d := cmp.Diff(routes, slices.Sorted(maps.Keys(ops))); d != "" {
		t.Errorf("routes, document: %s", d)
	}
	for _, want := range []string{"POST /api/v1/exports", "GET /api/v1/exports/{id}/events", "HEAD /api/v1/exports/{id}/file", "GET /readyz"} {
		if !slices.Contains(routes, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestTheDocumentIsWellFormed(t *testing.T) {
	doc, ops := operations(t)
	if v := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("version %s", v)
	}
	ids := map[string]string{}
	for name, op := range ops {
		id, _ := op["operationId"].(string)
		if ids[id] != "" || id == "" || op["summary"] == "" {
			t.Errorf("%s: operationId %q is missing or %s has it too, or there is no summary", name, id, ids[id])
		}
		ids[id] = name
		checkParameters(t, name, op)
		checkResponses(t, name, op)
	}
	checkRefs(t, doc, doc, "#")
	schemas := doc["components"].(object)["schemas"].(object)
	for name, schema := range schemas {
		if closed := schema.(object)["additionalProperties"] == false; closed != (name == "Order" || name == "HomeChange") {
			t.Errorf("schema %s is closed: %v", name, closed)
		}
	}
	if schemas["Problem"] == nil || schemas["ErrorModel"] != nil {
		t.Error("the document's errors are not ours")
	}
}

func checkParameters(t *testing.T, name string, op object) {
	t.Helper()
	params, _ := op["parameters"].([]any)
	seen := map[string]bool{}
	inPath := 0
	for _, p := range params {
		p := p.(object)
		key := p["in"].(string) + " " + p["name"].(string)
		if seen[key] || p["schema"] == nil {
			t.Errorf("%s: parameter %s is there twice or has no schema", name, key)
		}
		seen[key] = true
		if p["in"] == "path" {
			inPath++
			if p["required"] != true || !strings.Contains(name, "{"+p["name"].(string)+"}") {
				t.Errorf("%s: path parameter %s is optional or not in the path", name, p["name"])
			}
		}
	}
	if inPath != strings.Count(name, "{") {
		t.Errorf("%s has %d path parameters documented", name, inPath)
	}
}

func checkResponses(t *testing.T, name string, op object) {
	t.Helper()
	responses := op["responses"].(object)
	success := false
	for status, r := range responses {
		success = success || strings.HasPrefix(status, "2")
		r := r.(object)
		if r["description"] == nil || r["description"] == "" {
			t.Errorf("%s: %s has no description", name, status)
		}
		content, _ := r["content"].(object)
		isError := status >= "400" && status != "412" && status != "416"
		if isError != (content["application/problem+json"] != nil) {
			t.Errorf("%s: %s is documented as %v", name, status, content)
		}
	}
	secured := op["security"] != nil
	if !success || secured != (responses["401"] != nil) || secured != (strings.Contains(name, "/api/") && !strings.Contains(name, "{token}")) {
		t.Errorf("%s: success %v, secured %v, responses %v", name, success, secured, slices.Sorted(maps.Keys(responses)))
	}
}

// checkRefs follows every reference.
func checkRefs(t *testing.T, doc object, at any, where string) {
	t.Helper()
	switch at := at.(type) {
	case object:
		if ref, ok := at["$ref"].(string); ok {
			var target any = doc
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				target, _ = target.(object)[part]
			}
			if target == nil {
				t.Errorf("%s: %s leads nowhere", where, ref)
			}
		}
		for key, v := range at {
			checkRefs(t, doc, v, where+"/"+key)
		}
	case []any:
		for _, v := range at {
			checkRefs(t, doc, v, where)
		}
	}
}

func TestTheListsParametersAreDocumentedAsTheyAreTaken(t *testing.T) {
	_, ops := operations(t)
	var names []string
	for _, p := range ops["GET /api/v1/reservations"]["parameters"].([]any) {
		names = append(names, p.(object)["name"].(string))
	}
	for _, want := range []string{"_start", "_end", "_page", "_limit", "_sort", "_order", "_fields", "q", "status", "status_ne", "check_in_gte", "amount_lte", "guest_name_like", "canceled_on_null"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not documented", want)
		}
	}
	for _, not := range []string{"status_gte", "memo_like", "check_in_like"} {
		if slices.Contains(names, not) {
			t.Errorf("%s is documented, and refused", not)
		}
	}
	for _, f := range reservation.StoredFields() {
		if !slices.Contains(names, f.Key) || !slices.Contains(names, f.Key+"_null") {
			t.Errorf("no filter for %s", f.Key)
		}
	}
}
