package metrics

import (
	"regexp"
	"strings"
	"testing"
)

// The admin addresses have no token, and the tools ask nobody who they are: nothing
// of them is published but to the machine itself, and none starts unasked.
func TestTheComposeFilePublishesNothingOfWhatObserves(t *testing.T) {
	compose := read(t, "../../docker-compose.yml")
	ports := regexp.MustCompile(`ports: \["([^"]*)"\]`).FindAllStringSubmatch(compose, -1)
	if len(ports) < 4 {
		t.Errorf("%d ports are read", len(ports))
	}
	for _, p := range ports {
		if !strings.HasPrefix(p[1], "127.0.0.1:") {
			t.Errorf("%s is published to everybody", p[1])
		}
		if strings.HasSuffix(p[1], ":9090") && !strings.HasPrefix(p[1], "127.0.0.1:9091:") {
			t.Errorf("an admin address is published: %s", p[1])
		}
	}
	services := regexp.MustCompile(`(?m)^  ([a-z]+):\n((?:    .*\n|\n|  #.*\n)+)`).FindAllStringSubmatch(compose, -1)
	found := map[string]string{}
	for _, s := range services {
		found[s[1]] = s[2]
	}
	for _, tool := range []string{"prometheus", "grafana", "asynqmon"} {
		if !strings.Contains(found[tool], "profiles: [observe]") {
			t.Errorf("%s starts unasked:\n%s", tool, found[tool])
		}
	}
	for _, role := range []string{"gateway", "worker", "reservations"} {
		if !strings.Contains(found[role], "ROWMILL_ADMIN_ADDR:") {
			t.Errorf("%s has no admin address to be scraped at", role)
		}
	}
	if !strings.Contains(found["gateway"], "ROWMILL_ADMIN_ADDR: gateway-admin:9090") || !strings.Contains(found["gateway"], "internal: {aliases: [gateway-admin]}") {
		t.Error("the gateway's admin address is not bound to the internal network")
	}
}
