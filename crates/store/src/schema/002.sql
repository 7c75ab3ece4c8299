-- Version 2: more kinds of operation and a layer of its own for names; errors by class, stuck operations, the rate that was
-- kept, and what verification found.

-- The lists of what a column may hold are lengthened where they are written. Making the tables anew, as SQLite otherwise
-- asks for, would copy every histogram there is, at the start of a measurement at that. The content of the file does not
-- change by this, which is the condition under which SQLite's manual allows it (lang_altertable.html, chapter 7).
PRAGMA writable_schema = ON;

UPDATE sqlite_schema
   SET sql = replace(sql, 'kind IN (''read'', ''write'', ''sync'', ''commit'')',
           'kind IN (''read'', ''write'', ''sync'', ''commit'', ''trim'', ''create'', ''stat'', ''open'', ''unlink'', ''mkdir'', ''rmdir'')')
 WHERE type = 'table' AND name IN ('interval_op', 'worker_op');

UPDATE sqlite_schema
   SET sql = replace(sql, 'layer IN (''calibration'', ''file'', ''database'')',
           'layer IN (''calibration'', ''file'', ''metadata'', ''database'')')
 WHERE type = 'table' AND name = 'phase';

PRAGMA writable_schema = RESET;

ALTER TABLE phase ADD COLUMN rate_asked REAL;
ALTER TABLE phase ADD COLUMN rate_achieved REAL;
ALTER TABLE phase ADD COLUMN rate_kept INTEGER CHECK (rate_kept IN (0, 1));
ALTER TABLE phase ADD COLUMN verified_units INTEGER;
ALTER TABLE phase ADD COLUMN verified_wrong INTEGER;
ALTER TABLE phase ADD COLUMN verified_unknown INTEGER;
ALTER TABLE phase ADD COLUMN verified_unreadable INTEGER;
ALTER TABLE phase ADD COLUMN verified_incomplete INTEGER CHECK (verified_incomplete IN (0, 1));

CREATE TABLE error (
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    kind                    TEXT NOT NULL CHECK (kind IN ('read', 'write', 'sync', 'commit', 'trim', 'create', 'stat', 'open', 'unlink', 'mkdir', 'rmdir')),
    class                   TEXT NOT NULL,
    count                   INTEGER NOT NULL,
    first_offsets           TEXT NOT NULL CHECK (json_valid(first_offsets)),
    first                   TEXT NOT NULL,
    PRIMARY KEY (run, phase, position),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

CREATE TABLE stuck (
    run                     TEXT NOT NULL,
    phase                   INTEGER NOT NULL,
    position                INTEGER NOT NULL,
    worker                  INTEGER NOT NULL,
    kind                    TEXT NOT NULL CHECK (kind IN ('read', 'write', 'sync', 'commit', 'trim', 'create', 'stat', 'open', 'unlink', 'mkdir', 'rmdir')),
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
    what                    TEXT NOT NULL,
    PRIMARY KEY (run, phase, position),
    FOREIGN KEY (run, phase) REFERENCES phase (run, number) ON DELETE CASCADE
) STRICT;

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

-- The tasks as the data model now has them: which call makes data durable, and the ways to use an io_uring.
UPDATE phase
   SET task = json_set(task, '$.file.sync',
           json_object('every', json_extract(task, '$.file.sync_every'), 'method', 'fdatasync'))
 WHERE json_type(task, '$.file.sync_every') = 'integer';

UPDATE phase SET task = json_remove(task, '$.file.sync_every')
 WHERE json_type(task, '$.file.sync_every') IS NOT NULL;

UPDATE phase
   SET task = json_set(task, '$.file.backend',
           json('{"io-uring":{"submit_polling":false,"completion_polling":false,"linked_sync":false}}'))
 WHERE json_extract(task, '$.file.backend') = 'io-uring';
