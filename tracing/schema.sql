-- One home for each fact. Row ids never leave the file: outside, texts and messages are named by hash, runs by run_id.

create table meta(key text primary key, value any) strict;

create table body(                 -- every text that was said or returned, once
  id integer primary key,
  hash blob not null unique,       -- sha256 of the text
  text text not null,              -- readable Unicode
  raw blob,                        -- the exact bytes, only where text could not hold them (lone surrogates, NUL)
  gone int                         -- 1 when a prune took the text
) strict;

create table message(              -- a Merkle chain; see tracing/chain.py
  id integer primary key,
  hash blob not null unique,
  parent int,                      -- message.id of the one before, null for the first of a history
  depth int not null,              -- 0 for the first
  role text not null,
  body int,                        -- body.id of the content, null for none
  envelope text                    -- JSON: tool_calls, tool_call_id, further fields; null for none
) strict;

create table process(              -- who writes, so that a run whose process is gone can be told from a running one
  id integer primary key,
  host text not null,
  pid int not null,
  born text not null,              -- boot id, pid namespace, start time: tells a reused pid from the same process
  started_ns int not null,
  ended_ns int
) strict;

create table run(
  id integer primary key,
  run_id text not null unique,
  trace_id blob not null,
  span_id blob not null,
  parent_span blob,
  parent_run text,                 -- run_id of the run whose tool or fork this is
  fork_step int,
  kind text not null,              -- live, replay, fork, import
  session text,
  agent text not null,
  model text not null,
  process int not null,
  start_ns int not null,
  end_ns int,                      -- null while it runs
  duration_ns int,                 -- monotonic
  question int not null,           -- body.id
  start_tip int,                   -- message.id of the question in its history
  tip int,                         -- message.id of the last message, at the end
  settings int not null,           -- body.id
  tools int not null,              -- body.id of the tool schemas
  answer int,                      -- body.id
  stop text,
  error text,
  steps int, tool_calls int, inp int, out int, cached int, reasoning int,
  unreported int,                  -- answers without usage: with any, the sums are lower bounds
  attrs text                       -- JSON: metadata, version, bound (structlog's context at the start)
) strict;

create index run_time on run(strftime('%Y-%m-%dT%H:%M:%S',start_ns/1000000000,'unixepoch')||printf('.%06dZ',start_ns%1000000000/1000), id);
  -- exactly the expression of runs.started_at, or the newest runs are sorted anew each time
create index run_session on run(session, start_ns) where session is not null;
create index run_parent on run(parent_run) where parent_run is not null;
create index run_open on run(process) where end_ns is null;

create table span(                 -- a model call, a tool call, or a span of another library under a run
  run int not null,
  n int not null,                  -- its number in the run, in the order of starting
  span_id blob not null,
  parent_id blob,
  kind int not null,               -- 1 model call, 2 tool call, 3 foreign
  step int, idx int,               -- idx: the call's place in its message, from 0
  start_ns int not null, end_ns int, duration_ns int,
  name text not null,              -- chat, the tool, or the foreign span's own
  error text,
  model text, response_model text, provider text, finish text,
  inp int, out int, cached int, cache_write int, reasoning int,
  request_tip int, response int,     -- message.id of the last message that was sent, and of the answer
  settings int, tools int, raw int,  -- body.id; raw: the provider's message, where the answer differs from it
  attempts int, first_token_ns int,
  cost int, price text,            -- nano-USD, and by which price; null: not tried
  call_id text, arguments text,    -- arguments: the model's raw text
  result int, whole int,           -- body.id of what the model saw; of what the tool returned, null if that is all there
  chars int, truncated int,        -- the length before cutting
  attrs text,
  primary key(run, n)              -- clustered: a run's spans lie together, and a step writes one page instead of two
) strict, without rowid;

create index tool_time on span(name, start_ns) where kind=2;

create table event(                -- log lines that no other fact tells of; the loop's own are derived (log_events)
  id integer primary key,
  run int, span_id blob, step int,
  time_ns int not null, level text not null, name text not null,
  fields text not null             -- JSON
) strict;
create index event_run on event(run, time_ns);

create table annotation(           -- what a person or a check says: tags at the start, later more
  id text primary key,
  run_id text not null, step int, idx int, time_ns int not null, kind text not null, name text, value text
) strict, without rowid;
create index annotation_run on annotation(run_id);
create index annotation_tag on annotation(value, run_id) where kind='tag';
