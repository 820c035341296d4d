-- The pace of several processes, in one place, on one clock: the server's. The arithmetic is that of pace.py; whole
-- microseconds stay below 2^53, so Lua's numbers hold them exactly. Every key expires when it has nothing left to say.
--
-- KEYS  1 TAT (string)   2 penalties (sorted set: who -> until)   3 places taken (sorted set: token -> lease end)
-- ARGV  1 verb, then what the verb takes

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local verb = ARGV[1]

local function whole(number)
  return string.format('%.0f', number)
end

local function expire(key, moment)
  redis.call('PEXPIREAT', key, whole(math.ceil(moment / 1000) + 1000))
end

local function held(who)
  local own = tonumber(redis.call('ZSCORE', KEYS[2], who) or 0)
  -- R21: what two callers agree on is the second-latest of all penalties.
  local agreed = redis.call('ZREVRANGE', KEYS[2], 1, 1, 'WITHSCORES')
  return math.max(own, tonumber(agreed[2] or 0))
end

if verb == 'reserve' then
  local interval, tolerance, patience = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local hold = held(ARGV[2])
  if hold > now then
    return {whole(hold - now), 0}
  end
  local tat = tonumber(redis.call('GET', KEYS[1]) or 0)
  local wait = math.max(0, tat - tolerance - now)
  if wait > patience then
    return {whole(wait), 0}
  end
  tat = math.max(tat, now) + interval
  redis.call('SET', KEYS[1], whole(tat))
  expire(KEYS[1], tat)
  return {whole(wait), 1}
end

if verb == 'penalise' then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', whole(now))
  local known = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if known or redis.call('ZCARD', KEYS[2]) < tonumber(ARGV[4]) then
    redis.call('ZADD', KEYS[2], 'GT', whole(now + tonumber(ARGV[3])), ARGV[2])
    expire(KEYS[2], tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]))
  end
  return {'0', 1}
end

if verb == 'enter' then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', whole(now))
  if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[3]) then
    return {'0', 0}
  end
  redis.call('ZADD', KEYS[3], whole(now + tonumber(ARGV[4])), ARGV[2])
  expire(KEYS[3], now + tonumber(ARGV[4]))
  return {'0', 1}
end

if verb == 'leave' then
  redis.call('ZREM', KEYS[3], ARGV[2])
  return {'0', 1}
end

return redis.error_reply('unknown verb ' .. verb)
