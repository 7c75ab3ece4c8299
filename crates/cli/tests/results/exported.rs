//! Runs in the formats of other programs, read by other programs.

use super::*;

/// A Python environment with DuckDB, made once; `None`, with the reason printed, where that is not possible.
fn duckdb() -> Option<std::path::PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duckdb");
    let python = home.join("bin/python");
    let is_there = |python: &Path| {
        let imported = Command::new(python).args(["-c", "import duckdb"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    if is_there(&python) {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&home).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return skip("python3 cannot make an environment (python3-venv)");
    }
    let pip = ["-m", "pip", "install", "--quiet", "duckdb"];
    let installed = Command::new(&python).args(pip).output().unwrap();
    if installed.status.success() { Some(python) } else { skip(&format!("duckdb: {}", stderr(&installed))) }
}

/// What DuckDB answers: a list of rows.
fn asked(python: &Path, question: &str) -> Value {
    let script =
        "import duckdb, json, sys\nprint(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))";
    let output = Command::new(python).args(["-c", script, question]).output().unwrap();
    assert!(output.status.success(), "{question}: {}", stderr(&output));
    parsed(&text(&output))
}

#[test]
fn duckdb_reads_the_intervals_that_the_database_has() {
    let place = TestDirectory::new();
    let mixed = "[[tasks]]\n[tasks.io]\nname = \"a 'b' ü\"\nmix = { read-percent = 50 }\nbackend = 'sync'\ninterval = '50ms'\n\
                 stop.runtime = '400ms'\nramp = '100ms'\ntarget.file = { name = 'data', size = '1MiB', create = true, preallocate = true }\n";
    let job = job(&place, "job.toml", mixed);
    for _ in 0..2 {
        let output = iolite(&place, &["run", &job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let file = place.root.path().join("runs.parquet");
    let file = file.to_str().unwrap();
    let written =
        iolite(&place, &["results", "export", "latest~1", "latest", "--format", "parquet", "-o", file]);
    assert!(written.status.success(), "{}", stderr(&written));
    let refused = iolite(&place, &["results", "export", "latest", "--format", "parquet"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("-o FILE"), "{}", stderr(&refused));
    let Some(python) = duckdb() else { return };
    // The same sums by the same groups, of the file and of the results database.
    let parquet = asked(
        &python,
        &format!(
            "SELECT run, phase, name, stage, kind, CAST(sum(operations) AS BIGINT), CAST(sum(bytes) AS BIGINT), CAST(max(max_ns) AS BIGINT) \
             FROM '{file}' GROUP BY ALL HAVING sum(operations) > 0 ORDER BY ALL"
        ),
    );
    let sql = "SELECT i.run, i.phase, p.name, i.stage, o.kind, sum(o.operations), sum(o.bytes), max(o.response_max_ns) FROM interval i \
               JOIN interval_op o ON o.interval = i.id JOIN phase p ON p.run = i.run AND p.number = i.phase \
               GROUP BY 1, 2, 3, 4, 5 HAVING sum(o.operations) > 0 ORDER BY 1, 2, 3, 4, 5";
    let stored = rows(&place, sql);
    assert_eq!(parquet, stored);
    assert!(parquet.as_array().unwrap().len() >= 4, "{parquet}");
    let is_time = |column: &str| format!("starts_with(typeof({column}), 'TIMESTAMP')");
    let question = format!(
        "SELECT DISTINCT name, {}, {}, started >= run_started FROM '{file}'",
        is_time("started"),
        is_time("run_started")
    );
    assert_eq!(asked(&python, &question), serde_json::json!([["a 'b' ü", true, true, true]]));
}

/// Rows of the results database, as DuckDB's are.
fn rows(place: &TestDirectory, sql: &str) -> Value {
    let listed = rusqlite::Connection::open(place.results()).unwrap();
    let mut statement = listed.prepare(sql).unwrap();
    let columns = statement.column_count();
    let value = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Integer(number) => number.into(),
        rusqlite::types::Value::Text(text) => text.into(),
        _ => Value::Null,
    };
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|column| Ok(value(row.get(column)?))).collect::<Result<Vec<Value>, _>>()
    };
    statement.query_map([], row).unwrap().collect::<Result<Vec<_>, _>>().unwrap().into()
}
