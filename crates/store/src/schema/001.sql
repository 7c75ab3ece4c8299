-- Version 1. Facts only: whatever can be computed from these columns is a view or is left to the reader.
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
    filesystem_block_bytes  INTEGER NOT NULL,
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
    layer                   TEXT NOT NULL CHECK (layer IN ('calibration', 'file', 'database')),
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
    resident_before         REAL,
    resident_after          REAL,
    stamp                   TEXT,
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
    kind                    TEXT NOT NULL CHECK (kind IN ('read', 'write', 'sync', 'commit')),
    operations              INTEGER NOT NULL,
    bytes                   INTEGER NOT NULL,
    errors                  INTEGER NOT NULL,
    response_sum_ns         INTEGER NOT NULL,
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
    kind                    TEXT NOT NULL CHECK (kind IN ('read', 'write', 'sync', 'commit')),
    operations              INTEGER NOT NULL,
    bytes                   INTEGER NOT NULL,
    errors                  INTEGER NOT NULL,
    response_sum_ns         INTEGER NOT NULL,
    response_max_ns         INTEGER NOT NULL,
    response                BLOB NOT NULL,
    service                 BLOB NOT NULL,
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
    PRIMARY KEY (run, verdict, position),
    FOREIGN KEY (run, verdict) REFERENCES verdict (run, sequence) ON DELETE CASCADE
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
       c.response_sum_ns / 1e6 / nullif(c.operations, 0) AS mean_response_ms,
       c.response_max_ns / 1e6 AS max_response_ms,
       p.stamp
  FROM counted AS c
  JOIN measured AS m ON m.run = c.run AND m.phase = c.phase
  JOIN phase AS p ON p.run = c.run AND p.number = c.phase;

CREATE VIEW timeline AS
SELECT i.run, i.phase, i.stage, i.start_ns / 1e9 AS start_s, i.length_ns / 1e9 AS length_s, o.kind,
       coalesce(o.operations, 0) AS operations,
       coalesce(o.errors, 0) AS errors,
       coalesce(o.operations, 0) * 1e9 / nullif(i.length_ns, 0) AS iops,
       coalesce(o.bytes, 0) * 1e3 / nullif(i.length_ns, 0) AS mb_per_s,
       o.response_sum_ns / 1e6 / nullif(o.operations, 0) AS mean_response_ms,
       o.response_max_ns / 1e6 AS max_response_ms
  FROM interval AS i LEFT JOIN interval_op AS o ON o.interval = i.id;

-- What RanRead, RanWrite and RanIO have in common. A task's operation is the text "ran-read" or an object with
-- the operation's name as its only key.
CREATE VIEW database_worker AS
WITH task AS (
    SELECT run, number, concurrency, started_ns, task,
           CASE json_type(task, '$.database.operation')
               WHEN 'text' THEN task ->> '$.database.operation'
               WHEN 'object' THEN (SELECT key FROM json_each(task, '$.database.operation'))
           END AS operation
      FROM phase WHERE layer = 'database'
)
SELECT t.operation,
       strftime('%Y-%m-%d', (r.started_unix_ns + t.started_ns) / 1000000000, 'unixepoch') AS RunDate,
       strftime('%H:%M:%S', (r.started_unix_ns + t.started_ns) / 1000000000, 'unixepoch') AS RunTime,
       r.id AS Batch,
       r.directory AS "Database",
       '' AS Namespace,
       t.concurrency AS Processes,
       w.worker AS Job,
       coalesce(reads.operations, 0) AS Reads,
       coalesce(writes.operations, 0) AS Writes,
       coalesce(reads.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS ReadsPerSec,
       coalesce(writes.operations, 0) * 1e9 / nullif(w.length_ns, 0) AS WritesPerSec,
       w.length_ns / 1e9 AS ProcTime,
       CASE t.operation
           WHEN 'ran-read' THEN 100
           WHEN 'ran-write' THEN 0
           ELSE t.task ->> '$.database.operation."ran-io".read_percent'
       END AS ReadPct,
       t.number AS phase
  FROM task AS t
  JOIN run AS r ON r.id = t.run
  JOIN worker AS w ON w.run = t.run AND w.phase = t.number
  LEFT JOIN worker_op AS reads ON reads.worker = w.id AND reads.kind = 'read'
  LEFT JOIN worker_op AS writes ON writes.worker = w.id AND writes.kind = 'write';

CREATE VIEW RanRead AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct
  FROM database_worker WHERE operation = 'ran-read' ORDER BY Batch, phase, Job;

CREATE VIEW RanWrite AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct
  FROM database_worker WHERE operation = 'ran-write' ORDER BY Batch, phase, Job;

CREATE VIEW RanIO AS
SELECT RunDate, RunTime, Batch, "Database", Namespace, Processes, Job, Reads, Writes, ReadsPerSec, WritesPerSec,
       ProcTime, ReadPct
  FROM database_worker WHERE operation = 'ran-io' ORDER BY Batch, phase, Job;
