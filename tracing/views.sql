-- The stable surface. Times are UTC ISO 8601 text, durations milliseconds, money USD; unknown is null.

create view runs as select
  r.run_id, r.session, r.parent_run, r.fork_step, case when r.imported_ns is null then r.kind else 'import' end kind, r.agent, r.model,
  q.text question, a.text answer,
  case when r.stop is null then 'running' when r.stop in ('answered','failed','cancelled','interrupted') then r.stop else 'stopped' end status,
  r.stop, r.error,
  case when r.end_ns is not null then r.steps else (select count(*) from span s where s.run=r.id and s.kind=1 and s.response is not null) end steps,
  case when r.end_ns is not null then r.tool_calls else (select count(*) from span s where s.run=r.id and s.kind=2 and s.end_ns is not null) end tool_calls,
  case when r.end_ns is not null then r.inp else (select sum(inp) filter (where inp < 1000000000000) from span s where s.run=r.id and s.kind=1) end input_tokens,
  case when r.end_ns is not null then r.out else (select sum(out) filter (where out < 1000000000000) from span s where s.run=r.id and s.kind=1) end output_tokens,
  case when r.end_ns is not null then r.cached else (select sum(cached) filter (where cached < 1000000000000) from span s where s.run=r.id and s.kind=1) end cached_tokens,
  case when r.end_ns is not null then r.reasoning else (select sum(reasoning) filter (where reasoning < 1000000000000) from span s where s.run=r.id and s.kind=1) end reasoning_tokens,
  (select case when count(cost) then total(cost)/1e9 end from span s where s.run=r.id and s.kind=1) cost_usd,
  (select count(*) from span s where s.run=r.id and s.kind=1 and s.cost is null) unpriced_calls,
  strftime('%Y-%m-%dT%H:%M:%S',r.start_ns/1000000000,'unixepoch')||printf('.%06dZ',r.start_ns%1000000000/1000) started_at,
  strftime('%Y-%m-%dT%H:%M:%S',r.end_ns/1000000000,'unixepoch')||printf('.%06dZ',r.end_ns%1000000000/1000) ended_at,
  r.duration_ns/1e6 duration_ms,
  (select json_group_array(value) from (select distinct value from annotation n where n.run_id=r.run_id and n.kind='tag' order by n.time_ns, n.value)) tags,
  coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.metadata'),'{}') metadata,
  json_extract(case when json_valid(r.attrs) then r.attrs end,'$.version') version,
  case when r.end_ns is not null then r.unreported else (select count(*) from span s where s.run=r.id and s.kind=1 and s.response is not null and (s.inp is null or s.out is null)) end unreported_calls,
  r.redacted
  from run r join body q on q.id=r.question left join body a on a.id=r.answer;

create view model_calls as select
  r.run_id, s.step, lower(hex(s.span_id)) span_id, s.model, s.response_model, s.provider, s.finish finish_reason,
  s.inp input_tokens, s.out output_tokens, s.cached cached_tokens, s.reasoning reasoning_tokens,
  s.cost/1e9 cost_usd, s.price, s.attempts-1 retries, s.error,
  case when t.hash is not null then 's256:'||lower(hex(t.hash)) end request_tip,
  strftime('%Y-%m-%dT%H:%M:%S',s.start_ns/1000000000,'unixepoch')||printf('.%06dZ',s.start_ns%1000000000/1000) started_at,
  s.duration_ns/1e6 duration_ms, s.first_token_ns/1e6 first_token_ms
  from span s join run r on r.id=s.run left join message t on t.id=s.request_tip where s.kind=1
  order by s.run, s.n;

create view tool_calls as select
  r.run_id, s.step, s.idx+1 call, lower(hex(s.span_id)) span_id, s.call_id, s.name tool, s.arguments,
  b.text result, s.chars result_chars, s.truncated, s.error,
  strftime('%Y-%m-%dT%H:%M:%S',s.start_ns/1000000000,'unixepoch')||printf('.%06dZ',s.start_ns%1000000000/1000) started_at,
  s.duration_ns/1e6 duration_ms
  from span s join run r on r.id=s.run left join body b on b.id=s.result where s.kind=2
  order by s.run, s.n;

create view spans as
  select r.run_id, lower(hex(r.span_id)) span_id, nullif(lower(hex(r.parent_span)),'') parent_id, lower(hex(r.trace_id)) trace_id,
    'invoke_agent '||r.agent name, null step,
    strftime('%Y-%m-%dT%H:%M:%S',r.start_ns/1000000000,'unixepoch')||printf('.%06dZ',r.start_ns%1000000000/1000) started_at,
    strftime('%Y-%m-%dT%H:%M:%S',r.end_ns/1000000000,'unixepoch')||printf('.%06dZ',r.end_ns%1000000000/1000) ended_at,
    r.duration_ns/1e6 duration_ms,
    case when r.end_ns is null then 'open' when r.error is null then 'ok' else 'error' end status,
    json_object('gen_ai.operation.name','invoke_agent','gen_ai.agent.name',r.agent,'gen_ai.request.model',r.model,
      'gen_ai.conversation.id',r.session,'playhead.run.id',r.run_id,'playhead.stop',r.stop) attributes
    from run r
  union all
  select r.run_id, lower(hex(s.span_id)), nullif(lower(hex(s.parent_id)),''), lower(hex(r.trace_id)),
    case s.kind when 1 then 'chat '||s.model when 2 then 'execute_tool '||s.name else s.name end, s.step,
    strftime('%Y-%m-%dT%H:%M:%S',s.start_ns/1000000000,'unixepoch')||printf('.%06dZ',s.start_ns%1000000000/1000),
    strftime('%Y-%m-%dT%H:%M:%S',s.end_ns/1000000000,'unixepoch')||printf('.%06dZ',s.end_ns%1000000000/1000),
    s.duration_ns/1e6,
    case when s.end_ns is null then 'open' when s.error is null then 'ok' else 'error' end,
    case s.kind
      when 1 then json_object('gen_ai.operation.name','chat','gen_ai.provider.name',s.provider,'gen_ai.request.model',s.model,
        'gen_ai.response.model',s.response_model,'gen_ai.response.finish_reasons',json_array(s.finish),
        'gen_ai.usage.input_tokens',s.inp,'gen_ai.usage.output_tokens',s.out,
        'gen_ai.usage.cache_read.input_tokens',s.cached,'gen_ai.usage.cache_write.input_tokens',s.cache_write,
        'gen_ai.usage.reasoning.output_tokens',s.reasoning,'error.type',case when instr(s.error,':') then substr(s.error,1,instr(s.error,':')-1) else s.error end)
      when 2 then json_object('gen_ai.operation.name','execute_tool','gen_ai.tool.name',s.name,'gen_ai.tool.type','function',
        'gen_ai.tool.call.id',s.call_id,'error.type',case when instr(s.error,':') then substr(s.error,1,instr(s.error,':')-1) else s.error end)
      else coalesce(s.attrs,'{}') end
    from span s join run r on r.id=s.run;

create view conversation as select r.run_id, m.depth position, m.role, b.text content,
  json_extract(m.envelope,'$.tool_calls') tool_calls, 's256:'||lower(hex(m.hash)) hash
  from run r, json_each((with recursive h(id, up) as (
      select coalesce(r.tip,
        (select coalesce(s.response, s.request_tip) from span s where s.run=r.id and s.kind=1 order by s.n desc limit 1),
        r.start_tip), 0
      union all select m.parent, up+1 from h join message m on m.id=h.id where m.parent is not null)
    select json_group_array(id) from (select id from h order by up desc))) j
  join message m on m.id=j.value left join body b on b.id=m.body;

create view log_events as
  select run_id, span_id, step,
    strftime('%Y-%m-%dT%H:%M:%S',time_ns/1000000000,'unixepoch')||printf('.%06dZ',time_ns%1000000000/1000) time,
    level, event, fields from (
  select r.run_id, lower(hex(r.span_id)) span_id, null step, r.start_ns time_ns, 0 seq, 'info' level, 'run.started' event,
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.agent',r.agent,'$.model',r.model,'$.session',r.session,'$.kind',r.kind) fields
    from run r
  union all
  select r.run_id, lower(hex(s.span_id)), s.step, s.start_ns, s.n*2, 'info', 'model.asked',
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.step',s.step,'$.model',s.model,'$.messages',t.depth+1)
    from span s join run r on r.id=s.run left join message t on t.id=s.request_tip where s.kind=1
  union all
  select r.run_id, lower(hex(s.span_id)), s.step, s.end_ns, s.n*2+1,
    case when s.error is null then 'info' else 'error' end, case when s.error is null then 'model.answered' else 'model.failed' end,
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.step',s.step,'$.model',coalesce(s.response_model,s.model),
      '$.finish_reason',s.finish,'$.input_tokens',s.inp,'$.output_tokens',s.out,
      '$.tool_calls',coalesce(json_array_length(m.envelope,'$.tool_calls'),0),'$.error',s.error,'$.duration_ms',s.duration_ns/1e6)
    from span s join run r on r.id=s.run left join message m on m.id=s.response where s.kind=1 and s.end_ns is not null
  union all
  select r.run_id, lower(hex(s.span_id)), s.step, s.start_ns, s.n*2, 'info', 'tool.called',
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.step',s.step,'$.tool',s.name,'$.arguments',s.arguments)
    from span s join run r on r.id=s.run where s.kind=2
  union all
  select r.run_id, lower(hex(s.span_id)), s.step, s.end_ns, s.n*2+1,
    case when s.error is null then 'info' else 'warning' end, 'tool.answered',
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.step',s.step,'$.tool',s.name,'$.arguments',s.arguments,
      '$.result_chars',s.chars,'$.truncated',json(case when s.truncated then 'true' else 'false' end),'$.error',s.error,
      '$.duration_ms',s.duration_ns/1e6)
    from span s join run r on r.id=s.run where s.kind=2 and s.end_ns is not null
  union all
  select r.run_id, lower(hex(r.span_id)), null, r.end_ns, 9e18, case when r.stop='failed' then 'error' else 'info' end, 'run.finished',
    json_set(coalesce(json_extract(case when json_valid(r.attrs) then r.attrs end,'$.bound'),'{}'), '$.stop',r.stop,'$.steps',r.steps,'$.tool_calls',r.tool_calls,
      '$.input_tokens',r.inp,'$.output_tokens',r.out,'$.error',r.error,'$.duration_ms',r.duration_ns/1e6)
    from run r where r.end_ns is not null
  union all
  select r.run_id, nullif(lower(hex(e.span_id)),''), e.step, e.time_ns, 8e18, e.level, e.name, e.fields
    from event e left join run r on r.id=e.run
  order by time_ns, seq);
