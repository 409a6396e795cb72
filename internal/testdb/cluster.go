package testdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots are those of a Redis Cluster.
const slots = 16384

// RedisCluster gives the addresses of an empty cluster of so many Redis servers without
// replicas, which share the slots evenly and in order. It ends with the test.
func RedisCluster(t testing.TB, nodes int) (addresses []string) {
	t.Helper()
	var clients []*redis.Client
	for range nodes {
		address, stop, err := startNode()
		if err != nil {
			t.Fatalf("start a node of a test cluster: %v", err)
		}
		client := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() {
			if err := errors.Join(client.Close(), stop()); err != nil {
				t.Errorf("stop a node of the test cluster: %v", err)
			}
		})
		addresses, clients = append(addresses, address), append(clients, client)
	}
	if err := join(t.Context(), clients, addresses); err != nil {
		t.Fatalf("make a test cluster: %v", err)
	}
	return addresses
}

// startNode tries again where another process took its ports meanwhile.
func startNode() (address string, stop func() error, err error) {
	for range 5 {
		var ports [2]string
		if ports, err = freePorts(); err != nil {
			return "", nil, err
		}
		if stop, err = startNodeOn(ports); err == nil {
			return "127.0.0.1:" + ports[0], stop, nil
		}
	}
	return "", nil, err
}

func freePorts() (ports [2]string, err error) {
	for i := range ports {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, err
		}
		defer func() { _ = probe.Close() }() // held until both are found
		_, ports[i], _ = net.SplitHostPort(probe.Addr().String())
	}
	return ports, nil
}

// startNodeOn starts a server on a port for clients and one for the other nodes.
func startNodeOn(ports [2]string) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "rowmill-cluster-")
	if err != nil {
		return nil, err
	}
	server := exec.Command("redis-server", "--port", ports[0], "--cluster-port", ports[1], "--bind", "127.0.0.1", "--cluster-enabled", "yes",
		"--cluster-node-timeout", "5000", "--save", "", "--appendonly", "no", "--dir", dir)
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + ports[0], MaxRetries: -1})
	stop, err = launch(server, dir, func() error {
		got, err := client.ConfigGet(context.Background(), "dir").Result()
		if err == nil && got["dir"] != dir {
			err = fmt.Errorf("port %s is another server's", ports[0])
		}
		return err
	})
	return stop, errors.Join(err, client.Close())
}

// join gives each node its slots and waits until every node knows of all.
func join(ctx context.Context, clients []*redis.Client, addresses []string) error {
	for i, c := range clients {
		if err := c.ClusterAddSlotsRange(ctx, i*slots/len(clients), (i+1)*slots/len(clients)-1).Err(); err != nil {
			return err
		}
		bus, err := c.ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(addresses[i])
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", host, port, bus["cluster-port"]).Err(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	for !whole(ctx, clients) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
	return nil
}

func whole(ctx context.Context, clients []*redis.Client) bool {
	for _, c := range clients {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(len(clients))+"\r") {
			return false
		}
	}
	return true
}
