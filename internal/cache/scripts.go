package cache

import "github.com/redis/go-redis/v9"

// Each script is given the names of a key's value, generation and lock, in this
// order, and is atomic: that is what the promises among processes rest on.
//
// A generation is made by the first look that has to load, and ended by an
// invalidation, which deletes it. What is loaded is stored only while the
// generation that was there before the load is there after it. It is a random
// number, so a generation that Redis has lost or evicted never comes back.
var (
	// ARGV: stale time, token, lock time, a number for a new generation, its time; times in ms.
	beginScript = redis.NewScript(`
local payload, left = redis.call('GET', KEYS[1]), 0
if payload == '' then payload = false end
if payload then
	left = redis.call('PTTL', KEYS[1])
	if string.sub(payload, 1, 1) == 'a' or left > tonumber(ARGV[1]) then return {'fresh', payload, left, ''} end
end
local generation = redis.call('GET', KEYS[2])
if not generation then generation = ARGV[4] end
redis.call('SET', KEYS[2], generation, 'PX', ARGV[5])
local state = 'theirs'
if redis.call('SET', KEYS[3], ARGV[2], 'NX', 'PX', ARGV[3]) then state = 'ours' end
return {state, payload or '', left, generation}`)

	// ARGV: generation, payload, its time in ms, token.
	storeScript = redis.NewScript(`
local stored = 0
if redis.call('GET', KEYS[2]) == ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	stored = 1
end
if redis.call('GET', KEYS[3]) == ARGV[4] then redis.call('DEL', KEYS[3]) end
return stored`)

	// ARGV: token.
	releaseScript = redis.NewScript(`
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
return 1`)

	// ARGV: payload.
	discardScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`)

	// ARGV: channel, message. The lock goes too: what its flight loads is not stored.
	invalidateScript = redis.NewScript(`
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1`)
)
