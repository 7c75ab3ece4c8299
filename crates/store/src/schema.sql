-- Facts only: whatever can be computed from these columns is a view or is left to the reader.
-- docs/results.md explains every column; a test keeps the two in step.
-- `sequence` is the number of the event within its run, from 0: it restores the order in which things happened.

CREATE TABLE run (
    id                      TEXT PRIMARY KEY NOT NULL,
    version                 TEXT NOT NULL,
    model_version           INTEGER NOT NULL,
    command                 TEXT NOT NULL CHECK (json_valid(command)),
    started_unix_ns         INTEGER NOT NULL,
    started_utc             TEXT NOT NULL,
    process                 INTEGER NOT NULL,
    process_start_ticks     INTEGER,
    boot_id                 TEXT,
    pid_namespace           INTEGER,
    host_name               TEXT NOT NULL,
    kernel                  TEXT NOT NULL,
    architecture            TEXT NOT NULL,
    cpu                     TEXT NOT NULL,
    cpus                    INTEGER NOT NULL,
    memory_bytes            INTEGER NOT NULL,
    virtualisation          TEXT NOT NULL,
    directory               TEXT NOT NULL,
    filesystem_kind         TEXT NOT NULL,
    filesystem_source       TEXT NOT NULL,
    filesystem_mount_point  TEXT NOT NULL,
    filesystem_options      TEXT NOT NULL CHECK (json_valid(filesystem_options)),
    filesystem_size_bytes   INTEGER NOT NULL,
    filesystem_free_bytes   INTEGER NOT NULL,
    filesystem_block_size_bytes INTEGER NOT NULL,
    calibrated_sequence     INTEGER,
    clock                   TEXT,
    clock_cost_ns           REAL,
    clock_resolution_ns     INTEGER,
    loop_cost_ns            REAL,
    ending                  TEXT CHECK (ending IN ('completed', 'interrupted', 'failed')),
    failure                 TEXT CHECK ((failure IS NOT NULL) = (ending IS 'failed')),
    finished_unix_ns        INTEGER,
    finished_utc            TEXT,
    ended_sequence          INTEGER
) STRICT;

CREATE INDEX run_by_start ON run (started_unix_ns);

CREATE TABLE device (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position                INTEGER NOT NULL,
    name                    TEXT NOT NULL,
    kind                    TEXT NOT NULL,
    rests_on                TEXT NOT NULL CHECK (json_valid(rests_on)),
    major                   INTEGER NOT NULL,
    minor                   INTEGER NOT NULL,
    model                   TEXT,
    size_bytes              INTEGER NOT NULL,
    logical_block_bytes     INTEGER,
    physical_block_bytes    INTEGER,
    scheduler               TEXT,
    write_cache             TEXT,
    rotational              INTEGER CHECK (rotational IN (0, 1)),
    read_ahead_bytes        INTEGER,
    PRIMARY KEY (run, position)
) STRICT;

CREATE TABLE phase (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    number                  INTEGER NOT NULL,
    sequence                INTEGER NOT NULL,
    name                    TEXT NOT NULL,
    layer                   TEXT NOT NULL,
    concurrency             INTEGER NOT NULL,
    task                    TEXT NOT NULL CHECK (json_valid(task)),
    started_ns              INTEGER NOT NULL,
    ending                  TEXT CHECK (ending IN ('completed', 'interrupted', 'failed')),
    failure                 TEXT CHECK ((failure IS NOT NULL) = (ending IS 'failed')),
    measured_ns             INTEGER,
    outstanding_at_end      INTEGER,
    outstanding_lost        INTEGER,
    outstanding_oldest_ns   INTEGER,
    backlog                 INTEGER,
    requested_read_bytes    INTEGER,
    requested_written_bytes INTEGER,
    device_read_bytes       INTEGER,
    device_written_bytes    INTEGER,
    device_flushes          INTEGER,
    own_read_bytes          INTEGER,
    own_written_bytes       INTEGER,
    resident_before         REAL,
    resident_after          REAL,
    unwritten               REAL,
    compressed              REAL,
    zeros                   REAL,
    unattributed            INTEGER CHECK (unattributed IN (0, 1)),
    direct_confirmed        INTEGER CHECK (direct_confirmed IN (0, 1)),
    direct                  INTEGER CHECK (direct IN (0, 1)),
    synchronised            INTEGER CHECK (synchronised IN (0, 1)),
    stamp                   TEXT,
    rate_asked              REAL,
    rate_achieved           REAL,
    rate_kept               INTEGER CHECK (rate_kept IN (0, 1)),
    verified_units          INTEGER,
    verified_wrong          INTEGER,
    verified_unknown        INTEGER,
    verified_unreadable     INTEGER,
    verified_incomplete     INTEGER CHECK (verified_incomplete IN (0, 1)),
    -- JSON: wrong units by kind of damage.
    verified_damage         TEXT,
    released_sequence       INTEGER,
    released_unix_ns        INTEGER,
    ended_sequence          INTEGER,
    PRIMARY KEY (run, number)
) STRICT;

-- Apart from its operations, so that an interval in which nothing completed (a stall) is a row too.
CREATE TABLE interval (
    id                      INTEGER PRIMARY KEY,
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    sequence                INTEGER NOT NULL,
    start_ns                INTEGER NOT NULL,
    length_ns               INTEGER NOT NULL,
    stage                   TEXT NOT NULL CHECK (stage IN ('ramp', 'measured', 'drain')),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE UNIQUE INDEX interval_in_order ON interval (run, phase, sequence);

CREATE TABLE interval_op (
    interval                INTEGER NOT NULL REFERENCES interval (id) ON DELETE CASCADE,
    kind                    TEXT NOT NULL,
    operations              INTEGER NOT NULL,
    bytes                   INTEGER NOT NULL,
    errors                  INTEGER NOT NULL,
    response_sum_ns         INTEGER NOT NULL,
    delay_sum_ns            INTEGER NOT NULL,
    response_max_ns         INTEGER NOT NULL,
    response                BLOB NOT NULL,
    service                 BLOB NOT NULL,
    PRIMARY KEY (interval, kind)
) STRICT;

CREATE TABLE worker (
    id                      INTEGER PRIMARY KEY,
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    worker                  INTEGER NOT NULL,
    sequence                INTEGER NOT NULL,
    length_ns               INTEGER NOT NULL,
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE UNIQUE INDEX worker_once ON worker (run, phase, worker);

CREATE TABLE worker_op (
    worker                  INTEGER NOT NULL REFERENCES worker (id) ON DELETE CASCADE,
    kind                    TEXT NOT NULL,
    operations              INTEGER NOT NULL,
    bytes                   INTEGER NOT NULL,
    errors                  INTEGER NOT NULL,
    response_sum_ns         INTEGER NOT NULL,
    delay_sum_ns            INTEGER NOT NULL,
    response_max_ns         INTEGER NOT NULL,
    response                BLOB NOT NULL,
    service                 BLOB NOT NULL,
    p50_ns                  INTEGER,
    p95_ns                  INTEGER,
    p99_ns                  INTEGER,
    p999_ns                 INTEGER,
    PRIMARY KEY (worker, kind)
) STRICT;

CREATE TABLE warning (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence                INTEGER NOT NULL,
    kind                    TEXT NOT NULL,
    text                    TEXT NOT NULL,
    json                    TEXT NOT NULL CHECK (json_valid(json)),
    PRIMARY KEY (run, sequence)
) STRICT;

CREATE TABLE verdict (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence                INTEGER NOT NULL,
    profile                 TEXT NOT NULL,
    fitness                 TEXT NOT NULL CHECK (fitness IN ('fit', 'marginal', 'unfit')),
    PRIMARY KEY (run, sequence)
) STRICT;

CREATE TABLE reason (
    run                     TEXT NOT NULL,
    verdict                 INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    fitness                 TEXT NOT NULL CHECK (fitness IN ('fit', 'marginal', 'unfit')),
    what                    TEXT NOT NULL,
    measured                TEXT NOT NULL,
    asked                   TEXT NOT NULL,
    value                   REAL,
    bound                   REAL,
    unit                    TEXT,           -- of value and bound
    statistic               TEXT,           -- that value and bound are of
    phase                   INTEGER,        -- the phase that was judged
    reservations            TEXT NOT NULL,  -- JSON: a list of sentences
    PRIMARY KEY (run, verdict, position),
    FOREIGN KEY (run, verdict) REFERENCES verdict (run, sequence) ON DELETE CASCADE
) STRICT;

CREATE TABLE error (
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    kind                    TEXT NOT NULL,
    class                   TEXT NOT NULL,
    count                   INTEGER NOT NULL,
    first_offsets           TEXT NOT NULL CHECK (json_valid(first_offsets)),
    first                   TEXT NOT NULL,
    number                  INTEGER,
    PRIMARY KEY (run, phase, position),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE TABLE stuck (
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    worker                  INTEGER NOT NULL,
    kind                    TEXT NOT NULL,
    offset                  INTEGER NOT NULL,
    age_ns                  INTEGER NOT NULL,
    PRIMARY KEY (run, phase, position),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE TABLE finding (
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    offset                  INTEGER NOT NULL,
    -- Kind of damage; NULL where the unit can't be read.
    damage                  TEXT,
    what                    TEXT NOT NULL,
    PRIMARY KEY (run, phase, position),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

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

-- What a run concludes, each kind in its own JSON: knees, answers, what was asked for, details of a phase. `phase` is NULL for
-- what is about the run.
CREATE TABLE conclusion (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence                INTEGER NOT NULL,
    kind                    TEXT NOT NULL,
    phase                   INTEGER,
    json                    TEXT NOT NULL CHECK (json_valid(json)),
    PRIMARY KEY (run, sequence)
) STRICT;

CREATE INDEX conclusion_by_kind ON conclusion (kind, run);

-- What probes have read beside the measurement; `at_ns` since the run's start.
CREATE TABLE reading (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence                INTEGER NOT NULL,
    probe                   TEXT NOT NULL,
    subject                 TEXT NOT NULL,
    at_ns                   INTEGER NOT NULL,
    json                    TEXT NOT NULL CHECK (json_valid(json)),
    PRIMARY KEY (run, sequence)
) STRICT;

-- Their values, one a row.
CREATE VIEW reading_value AS
SELECT r.run, r.probe, r.subject, r.at_ns / 1e9 AS at_s, v.value ->> '$.name' AS name, v.value ->> '$.kind' AS kind,
       v.value ->> '$.value' AS value
  FROM reading AS r, json_each(r.json) AS v;

-- The 95 % intervals of a phase's rates and means, within the phase.
CREATE VIEW rate_bounds AS
SELECT c.run, c.phase, k.value ->> '$.kind' AS kind,
       k.value ->> '$.rate_low' AS iops_low, k.value ->> '$.rate_high' AS iops_high,
       (k.value ->> '$.mean_low') / 1e6 AS mean_response_low_ms,
       (k.value ->> '$.mean_high') / 1e6 AS mean_response_high_ms
  FROM conclusion AS c, json_each(c.json, '$.kinds') AS k
 WHERE c.kind = 'rate-bounds';

-- Where the rate of a phase's main kind of operation changed permanently (`level-shift` of the conclusion `changes`).
CREATE VIEW rate_change AS
SELECT c.run, c.phase, c.json ->> '$.operation' AS kind, v.value ->> '$.at' AS at_s,
       v.value ->> '$.before.value' AS iops_before, v.value ->> '$.after.value' AS iops_after
  FROM conclusion AS c, json_each(c.json, '$.changes') AS v
 WHERE c.kind = 'changes' AND v.value ->> '$.change' = 'level-shift';

-- NOPM and TPM of the phases of TPROC-C, with their 95 % intervals within the phase. A limit that is not finite is stored as text.
CREATE VIEW tproc_c_summary AS
WITH rate AS (
    SELECT run, phase, json ->> '$.nopm.value' AS nopm, json ->> '$.nopm.low' AS nopm_low, json ->> '$.nopm.high' AS nopm_high,
           json ->> '$.tpm.value' AS tpm, json ->> '$.tpm.low' AS tpm_low, json ->> '$.tpm.high' AS tpm_high
      FROM conclusion WHERE kind = 'tproc-c-rates'
)
SELECT p.run, p.number AS phase, p.name, p.concurrency AS users, p.measured_ns / 1e9 AS seconds,
       r.nopm, iif(typeof(r.nopm_low) = 'real', r.nopm_low, NULL) AS nopm_low,
       iif(typeof(r.nopm_high) = 'real', r.nopm_high, NULL) AS nopm_high,
       r.tpm, iif(typeof(r.tpm_low) = 'real', r.tpm_low, NULL) AS tpm_low,
       iif(typeof(r.tpm_high) = 'real', r.tpm_high, NULL) AS tpm_high,
       p.stamp
  FROM rate AS r JOIN phase AS p ON p.run = r.run AND p.number = r.phase;

-- What the user says of a run.
CREATE TABLE note (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    added_unix_ns           INTEGER NOT NULL,
    text                    TEXT NOT NULL
) STRICT;

CREATE TABLE tag (
    run                     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    name                    TEXT NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;

-- The time is the phase's own; where a run was cut short, that of its intervals. A worker that was held up delivers its
-- share of an interval later, as a further row with the same start: such rows add operations but no time.
CREATE VIEW summary AS
WITH slot AS (
    SELECT run, phase, max(length_ns) AS ns FROM interval WHERE stage = 'measured' GROUP BY run, phase, start_ns
), measured AS (
    SELECT s.run, s.phase, coalesce(max(p.measured_ns), sum(s.ns)) AS ns
      FROM slot AS s JOIN phase AS p ON p.run = s.run AND p.number = s.phase
     GROUP BY s.run, s.phase
), level AS (
    SELECT DISTINCT run, phase, kind, first_value(iops_before) OVER shifts AS iops_first, last_value(iops_after) OVER shifts AS iops_last
      FROM rate_change
    WINDOW shifts AS (PARTITION BY run, phase, kind ORDER BY at_s ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), counted AS (
    SELECT i.run, i.phase, o.kind, sum(o.operations) AS operations, sum(o.bytes) AS bytes, sum(o.errors) AS errors,
           sum(o.response_sum_ns) AS response_sum_ns, max(o.response_max_ns) AS response_max_ns
      FROM interval AS i JOIN interval_op AS o ON o.interval = i.id
     WHERE i.stage = 'measured'
     GROUP BY i.run, i.phase, o.kind
)
SELECT p.run, p.number AS phase, p.name, p.concurrency, c.kind, c.operations, c.bytes, c.errors,
       m.ns / 1e9 AS seconds,
       c.operations * 1e9 / nullif(m.ns, 0) AS iops,
       c.bytes * 1e3 / nullif(m.ns, 0) AS mb_per_s,
       nullif(c.response_sum_ns, 0) / 1e6 / nullif(c.operations, 0) AS mean_response_ms,
       nullif(c.response_max_ns, 0) / 1e6 AS max_response_ms,
       b.iops_low, b.iops_high, b.mean_response_low_ms, b.mean_response_high_ms,
       l.iops_first, l.iops_last,
       p.stamp
  FROM counted AS c
  JOIN measured AS m ON m.run = c.run AND m.phase = c.phase
  JOIN phase AS p ON p.run = c.run AND p.number = c.phase
  LEFT JOIN rate_bounds AS b ON b.run = c.run AND b.phase = c.phase AND b.kind = c.kind
  LEFT JOIN level AS l ON l.run = c.run AND l.phase = c.phase AND l.kind = c.kind;

CREATE VIEW timeline AS
SELECT i.run, i.phase, i.stage, i.start_ns / 1e9 AS start_s, i.length_ns / 1e9 AS length_s, o.kind,
       coalesce(o.operations, 0) AS operations,
       coalesce(o.errors, 0) AS errors,
       coalesce(o.operations, 0) * 1e9 / nullif(i.length_ns, 0) AS iops,
       coalesce(o.bytes, 0) * 1e3 / nullif(i.length_ns, 0) AS mb_per_s,
       nullif(o.response_sum_ns, 0) / 1e6 / nullif(o.operations, 0) AS mean_response_ms,
       nullif(o.response_max_ns, 0) / 1e6 AS max_response_ms,
       b.iops_low AS phase_iops_low, b.iops_high AS phase_iops_high, p.stamp
  FROM interval AS i
  JOIN phase AS p ON p.run = i.run AND p.number = i.phase
  LEFT JOIN interval_op AS o ON o.interval = i.id
  LEFT JOIN rate_bounds AS b ON b.run = i.run AND b.phase = i.phase AND b.kind = o.kind;

CREATE VIEW trouble AS
SELECT p.run, p.number AS phase, p.name, t.what, t.kind, t.count, t.detail
  FROM phase AS p JOIN (
    SELECT run, phase, 'error: ' || class AS what, kind, count, first AS detail FROM error
    UNION ALL
    SELECT run, phase, 'stuck', kind, count(*), printf('the oldest for %.3f s', max(age_ns) / 1e9)
      FROM stuck GROUP BY run, phase, kind
    UNION ALL
    SELECT run, number, 'rate not kept', NULL, backlog,
           printf('%.1f operations per second of %.1f asked for', rate_achieved, rate_asked)
      FROM phase WHERE rate_kept = 0
    UNION ALL
    SELECT run, number, 'wrong data', NULL, verified_wrong,
           (SELECT what FROM finding WHERE run = phase.run AND phase = phase.number ORDER BY position LIMIT 1)
      FROM phase WHERE verified_wrong > 0
    UNION ALL
    SELECT run, number, 'unreadable data', NULL, verified_unreadable, NULL
      FROM phase WHERE verified_unreadable > 0
  ) AS t ON t.run = p.run AND t.phase = p.number;

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
       t.stamp,
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
       nullif(reads.response_sum_ns, 0) / 1e6 / nullif(reads.operations, 0) AS ReadMeanMs,
       reads.p50_ns / 1e6 AS ReadP50Ms,
       reads.p95_ns / 1e6 AS ReadP95Ms,
       reads.p99_ns / 1e6 AS ReadP99Ms,
       reads.p999_ns / 1e6 AS ReadP999Ms,
       nullif(reads.response_max_ns, 0) / 1e6 AS ReadMaxMs,
       nullif(writes.response_sum_ns, 0) / 1e6 / nullif(writes.operations, 0) AS WriteMeanMs,
       writes.p50_ns / 1e6 AS WriteP50Ms,
       writes.p95_ns / 1e6 AS WriteP95Ms,
       writes.p99_ns / 1e6 AS WriteP99Ms,
       writes.p999_ns / 1e6 AS WriteP999Ms,
       nullif(writes.response_max_ns, 0) / 1e6 AS WriteMaxMs,
       coalesce(commits.operations, 0) AS Commits,
       coalesce(commits.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS CommitsPerSec,
       nullif(commits.response_sum_ns, 0) / 1e6 / nullif(commits.operations, 0) AS CommitMeanMs,
       commits.p50_ns / 1e6 AS CommitP50Ms,
       commits.p95_ns / 1e6 AS CommitP95Ms,
       commits.p99_ns / 1e6 AS CommitP99Ms,
       commits.p999_ns / 1e6 AS CommitP999Ms,
       nullif(commits.response_max_ns, 0) / 1e6 AS CommitMaxMs,
       p.engine AS Engine,
       p.durability AS Durability,
       p.timed_by AS TimedBy,
       p.stamp AS Stamp,
       100 * (read_bounds.iops_high - read_bounds.iops_low) / (read_bounds.iops_high + read_bounds.iops_low) AS ReadsPlusMinusPct,
       100 * (write_bounds.iops_high - write_bounds.iops_low) / (write_bounds.iops_high + write_bounds.iops_low) AS WritesPlusMinusPct,
       100 * (commit_bounds.iops_high - commit_bounds.iops_low) / (commit_bounds.iops_high + commit_bounds.iops_low)
           AS CommitsPlusMinusPct,
       p.phase
  FROM database_phase AS p
  JOIN worker AS w ON w.run = p.run AND w.phase = p.phase
  LEFT JOIN worker_op AS reads ON reads.worker = w.id AND reads.kind = 'read'
  LEFT JOIN worker_op AS writes ON writes.worker = w.id AND writes.kind = 'write'
  LEFT JOIN worker_op AS commits ON commits.worker = w.id AND commits.kind = 'commit'
  LEFT JOIN rate_bounds AS read_bounds
    ON read_bounds.run = p.run AND read_bounds.phase = p.phase AND read_bounds.kind = 'read'
  LEFT JOIN rate_bounds AS write_bounds
    ON write_bounds.run = p.run AND write_bounds.phase = p.phase AND write_bounds.kind = 'write'
  LEFT JOIN rate_bounds AS commit_bounds
    ON commit_bounds.run = p.run AND commit_bounds.phase = p.phase AND commit_bounds.kind = 'commit';

CREATE VIEW RanRead AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, Stamp, ReadsPlusMinusPct, WritesPlusMinusPct, CommitsPlusMinusPct, phase
  FROM database_worker WHERE operation = 'ran-read' ORDER BY Batch, phase, Job;

CREATE VIEW RanWrite AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, Stamp, ReadsPlusMinusPct, WritesPlusMinusPct, CommitsPlusMinusPct, phase
  FROM database_worker WHERE operation = 'ran-write' ORDER BY Batch, phase, Job;

CREATE VIEW RanIO AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct,
       ReadMeanMs, ReadP50Ms, ReadP95Ms, ReadP99Ms, ReadP999Ms, ReadMaxMs,
       WriteMeanMs, WriteP50Ms, WriteP95Ms, WriteP99Ms, WriteP999Ms, WriteMaxMs,
       Commits, CommitsPerSec, CommitMeanMs, CommitP50Ms, CommitP95Ms, CommitP99Ms, CommitP999Ms, CommitMaxMs,
       Engine, Durability, TimedBy, Stamp, ReadsPlusMinusPct, WritesPlusMinusPct, CommitsPlusMinusPct, phase
  FROM database_worker WHERE operation = 'ran-io' ORDER BY Batch, phase, Job;

-- Rates and response times are of the measured time. Devices and databases count over the whole phase, ramp and drain
-- included, and so do the logical operations that are set against these.
CREATE VIEW database_summary AS
WITH measured AS (
    SELECT run, phase, max(seconds) AS seconds, sum(errors) AS errors,
           max(operations) FILTER (WHERE kind = 'read') AS reads,
           max(operations) FILTER (WHERE kind = 'write') AS writes,
           max(operations) FILTER (WHERE kind = 'commit') AS commits,
           max(iops_low) FILTER (WHERE kind = 'read') AS reads_low,
           max(iops_high) FILTER (WHERE kind = 'read') AS reads_high,
           max(iops_low) FILTER (WHERE kind = 'write') AS writes_low,
           max(iops_high) FILTER (WHERE kind = 'write') AS writes_high,
           max(iops_low) FILTER (WHERE kind = 'commit') AS commits_low,
           max(iops_high) FILTER (WHERE kind = 'commit') AS commits_high,
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
SELECT p.run, p.phase, p.name, p.operation, p.database, p.engine, p.durability, p.timed_by, p.workers, p.stamp, m.seconds,
       coalesce(m.reads, 0) AS reads,
       coalesce(m.writes, 0) AS writes,
       coalesce(m.commits, 0) AS commits,
       coalesce(m.errors, 0) AS errors,
       coalesce(m.reads, 0) / nullif(m.seconds, 0) AS reads_per_s,
       coalesce(m.writes, 0) / nullif(m.seconds, 0) AS writes_per_s,
       coalesce(m.commits, 0) / nullif(m.seconds, 0) AS commits_per_s,
       m.reads_low AS reads_per_s_low, m.reads_high AS reads_per_s_high,
       m.writes_low AS writes_per_s_low, m.writes_high AS writes_per_s_high,
       m.commits_low AS commits_per_s_low, m.commits_high AS commits_per_s_high,
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
