// Package chaos holds the fault campaign: the product's processes on real servers,
// faults on each connection between them drawn from a seed, and what must hold
// when all faults are over. All of it is tests; docs/guarantees.md has its results.
package chaos
