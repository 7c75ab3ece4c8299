-- Version 3: what the database of a phase is, what its operations took, and percentiles for those who have SQL alone.

ALTER TABLE worker_op ADD COLUMN p50_ns INTEGER;
ALTER TABLE worker_op ADD COLUMN p95_ns INTEGER;
ALTER TABLE worker_op ADD COLUMN p99_ns INTEGER;
ALTER TABLE worker_op ADD COLUMN p999_ns INTEGER;

CREATE TABLE database_facts (
    run                         TEXT NOT NULL,
    phase                       INTEGER NOT NULL,
    sequence                    INTEGER NOT NULL,
    url                         TEXT NOT NULL,
    namespace                   TEXT NOT NULL,
    engine                      TEXT NOT NULL,
    version                     TEXT NOT NULL,
    block_bytes                 INTEGER NOT NULL,
    size_bytes                  INTEGER NOT NULL,
    blocks                      INTEGER NOT NULL,
    globals                     TEXT NOT NULL CHECK (json_valid(globals)),
    read_path                   TEXT NOT NULL,
    write_path                  TEXT NOT NULL,
    durability                  TEXT NOT NULL CHECK (durability IN ('full', 'relaxed')),
    durable_by                  TEXT NOT NULL,
    direct                      INTEGER NOT NULL CHECK (direct IN (0, 1)),
    timed_by                    TEXT NOT NULL CHECK (timed_by IN ('client', 'database')),
    settings                    TEXT NOT NULL CHECK (json_valid(settings)),
    PRIMARY KEY (run, phase),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE TABLE database_use (
    run                         TEXT NOT NULL,
    phase                       INTEGER NOT NULL,
    sequence                    INTEGER NOT NULL,
    data_device_reads           INTEGER,
    data_device_read_bytes      INTEGER,
    data_device_writes          INTEGER,
    data_device_written_bytes   INTEGER,
    data_device_flushes         INTEGER,
    log_device_reads            INTEGER,
    log_device_read_bytes       INTEGER,
    log_device_writes           INTEGER,
    log_device_written_bytes    INTEGER,
    log_device_flushes          INTEGER,
    data_reads                  INTEGER,
    data_read_bytes             INTEGER,
    data_writes                 INTEGER,
    data_written_bytes          INTEGER,
    data_syncs                  INTEGER,
    log_writes                  INTEGER,
    log_written_bytes           INTEGER,
    log_syncs                   INTEGER,
    writer_active_ns            INTEGER,
    observed_ns                 INTEGER NOT NULL,
    tool_cpu_ns                 INTEGER NOT NULL,
    host_cpu_ns                 INTEGER,
    PRIMARY KEY (run, phase),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

DROP VIEW RanRead;
DROP VIEW RanWrite;
DROP VIEW RanIO;
DROP VIEW database_worker;

-- A task's operation is the text "ran-read" or an object with the operation's name as its only key. What no facts are
-- known of (rows of older versions, and until a phase's database has been asked) is in the run's directory.
CREATE VIEW database_phase AS
WITH task AS (
    SELECT *,
           CASE json_type(task, '$.database.operation')
               WHEN 'text' THEN task ->> '$.database.operation'
               WHEN 'object' THEN (SELECT key FROM json_each(task, '$.database.operation'))
           END AS operation
      FROM phase WHERE layer = 'database'
)
SELECT t.run, t.number AS phase, t.name, t.operation,
       r.started_unix_ns + t.started_ns AS started_unix_ns,
       t.ending,
       coalesce(f.url, r.directory) AS database,
       coalesce(f.namespace, '') AS namespace,
       f.engine, f.version, f.durability,
       coalesce(f.timed_by, t.task ->> '$.database.timed_by', 'client') AS timed_by,
       t.concurrency AS workers,
       CASE t.operation
           WHEN 'ran-read' THEN 100
           WHEN 'ran-write' THEN 0
           ELSE t.task ->> '$.database.operation."ran-io".read_percent'
       END AS read_percent
  FROM task AS t
  JOIN run AS r ON r.id = t.run
  LEFT JOIN database_facts AS f ON f.run = t.run AND f.phase = t.number;

-- What RanRead, RanWrite and RanIO have in common.
CREATE VIEW database_worker AS
SELECT p.operation,
       strftime('%Y-%m-%d', p.started_unix_ns / 1000000000, 'unixepoch') AS RunDate,
       strftime('%H:%M:%S', p.started_unix_ns / 1000000000, 'unixepoch') AS RunTime,
       p.run AS Batch,
       p.database AS "Database",
       p.namespace AS Namespace,
       p.workers AS Processes,
       w.worker AS Job,
       coalesce(reads.operations, 0) AS Reads,
       coalesce(writes.operations, 0) AS Writes,
       coalesce(reads.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS ReadsPerSec,
       coalesce(writes.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS WritesPerSec,
       w.length_ns / 1e9 AS ProcTime,
       p.read_percent AS ReadPct,
       reads.response_sum_ns / 1e6 / nullif(reads.operations, 0) AS ReadMeanMs,
       reads.p50_ns / 1e6 AS ReadP50Ms,
       reads.p95_ns / 1e6 AS ReadP95Ms,
       reads.p99_ns / 1e6 AS ReadP99Ms,
       reads.p999_ns / 1e6 AS ReadP999Ms,
       reads.response_max_ns / 1e6 AS ReadMaxMs,
       writes.response_sum_ns / 1e6 / nullif(writes.operations, 0) AS WriteMeanMs,
       writes.p50_ns / 1e6 AS WriteP50Ms,
       writes.p95_ns / 1e6 AS WriteP95Ms,
       writes.p99_ns / 1e6 AS WriteP99Ms,
       writes.p999_ns / 1e6 AS WriteP999Ms,
       writes.response_max_ns / 1e6 AS WriteMaxMs,
       coalesce(commits.operations, 0) AS Commits,
       coalesce(commits.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS CommitsPerSec,
       commits.response_sum_ns / 1e6 / nullif(commits.operations, 0) AS CommitMeanMs,
       commits.p50_ns / 1e6 AS CommitP50Ms,
       commits.p95_ns / 1e6 AS CommitP95Ms,
       commits.p99_ns / 1e6 AS CommitP99Ms,
       commits.p999_ns / 1e6 AS CommitP999Ms,
       commits.response_max_ns / 1e6 AS CommitMaxMs,
       p.engine AS Engine,
       p.durability AS Durability,
       p.timed_by AS TimedBy,
       p.phase
  FROM database_phase AS p
  JOIN worker AS w ON w.run = p.run AND w.phase = p.phase
  LEFT JOIN worker_op AS reads ON reads.worker = w.id AND reads.kind = 'read'
  LEFT JOIN worker_op AS writes ON writes.worker = w.id AND writes.kind = 'write'
  LEFT JOIN worker_op AS commits ON commits.worker = w.id AND commits.kind = 'commit';

CREATE VIEW RanRead AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, phase
  FROM database_worker WHERE operation = 'ran-read' ORDER BY Batch, phase, Job;

CREATE VIEW RanWrite AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, phase
  FROM database_worker WHERE operation = 'ran-write' ORDER BY Batch, phase, Job;

CREATE VIEW RanIO AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, phase
  FROM database_worker WHERE operation = 'ran-io' ORDER BY Batch, phase, Job;

-- Rates and response times are of the measured time. Devices and databases count over the whole phase, ramp and drain
-- included, and so do the logical operations that are set against these.
CREATE VIEW database_summary AS
WITH measured AS (
    SELECT run, phase, max(seconds) AS seconds, sum(errors) AS errors,
           max(operations) FILTER (WHERE kind = 'read') AS reads,
           max(operations) FILTER (WHERE kind = 'write') AS writes,
           max(operations) FILTER (WHERE kind = 'commit') AS commits,
           max(mean_response_ms) FILTER (WHERE kind = 'read') AS read_mean_ms,
           max(max_response_ms) FILTER (WHERE kind = 'read') AS read_max_ms,
           max(mean_response_ms) FILTER (WHERE kind = 'write') AS write_mean_ms,
           max(max_response_ms) FILTER (WHERE kind = 'write') AS write_max_ms,
           max(mean_response_ms) FILTER (WHERE kind = 'commit') AS commit_mean_ms,
           max(max_response_ms) FILTER (WHERE kind = 'commit') AS commit_max_ms
      FROM summary GROUP BY run, phase
), whole AS (
    SELECT i.run, i.phase,
           coalesce(sum(o.operations) FILTER (WHERE o.kind = 'read'), 0) AS reads,
           coalesce(sum(o.operations) FILTER (WHERE o.kind = 'write'), 0) AS writes,
           coalesce(sum(o.operations) FILTER (WHERE o.kind = 'commit'), 0) AS commits
      FROM interval AS i JOIN interval_op AS o ON o.interval = i.id
     GROUP BY i.run, i.phase
), physical AS (
    SELECT *,
           data_device_reads + coalesce(log_device_reads, 0) AS device_reads,
           data_device_read_bytes + coalesce(log_device_read_bytes, 0) AS device_read_bytes,
           data_device_writes + coalesce(log_device_writes, 0) AS device_writes,
           data_device_written_bytes + coalesce(log_device_written_bytes, 0) AS device_written_bytes,
           data_device_flushes + coalesce(log_device_flushes, 0) AS device_flushes
      FROM database_use
)
SELECT p.run, p.phase, p.name, p.operation, p.database, p.engine, p.durability, p.timed_by, p.workers, m.seconds,
       coalesce(m.reads, 0) AS reads,
       coalesce(m.writes, 0) AS writes,
       coalesce(m.commits, 0) AS commits,
       coalesce(m.errors, 0) AS errors,
       coalesce(m.reads, 0) / nullif(m.seconds, 0) AS reads_per_s,
       coalesce(m.writes, 0) / nullif(m.seconds, 0) AS writes_per_s,
       coalesce(m.commits, 0) / nullif(m.seconds, 0) AS commits_per_s,
       m.read_mean_ms, m.read_max_ms, m.write_mean_ms, m.write_max_ms, m.commit_mean_ms, m.commit_max_ms,
       coalesce(w.reads, 0) AS logical_reads,
       coalesce(w.writes, 0) AS logical_writes,
       coalesce(w.commits, 0) AS logical_commits,
       u.device_reads, u.device_read_bytes, u.device_writes, u.device_written_bytes, u.device_flushes,
       u.data_reads, u.data_read_bytes, u.data_writes, u.data_written_bytes, u.data_syncs,
       u.log_writes, u.log_written_bytes, u.log_syncs,
       nullif(w.reads, 0) * 1.0 / nullif(u.device_reads, 0) AS reads_per_device_read,
       nullif(w.writes, 0) * 1.0 / nullif(u.device_writes, 0) AS writes_per_device_write,
       nullif(w.reads, 0) * 1.0 / nullif(u.data_reads, 0) AS reads_per_data_read,
       nullif(w.writes, 0) * 1.0 / nullif(u.data_writes, 0) AS writes_per_data_write,
       u.log_written_bytes * 1.0 / nullif(w.writes, 0) AS log_bytes_per_write,
       u.writer_active_ns * 1.0 / nullif(u.observed_ns, 0) AS writer_active_share,
       u.tool_cpu_ns * 1.0 / nullif(u.host_cpu_ns, 0) AS tool_cpu_share
  FROM database_phase AS p
  LEFT JOIN measured AS m ON m.run = p.run AND m.phase = p.phase
  LEFT JOIN whole AS w ON w.run = p.run AND w.phase = p.phase
  LEFT JOIN physical AS u ON u.run = p.run AND u.phase = p.phase;
