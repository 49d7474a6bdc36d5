"""Migrations and the SQL files themselves, on real DuckDB files."""

import re
from pathlib import Path

import duckdb
import pytest

from dpcore.errors import MigrationError, WarehouseError
from dpcore.results.warehouse import counted_files, open_for_reading, open_for_writing, standing_rounds
from dpcore.results.warehouse.schema_migration import Migration, migrate, read_migrations, shipped_migrations
from dpcore.results.warehouse.views import RESULTS, shipped_macros, shipped_views

TABLES = {
    "runs": "run_id scheme scheme_digest round source clients accepted rejected randomness seed state started_at "
    "finished_at version flow_run_id late trial replaced_by forgotten_at",
    "aggregates": "run_id attribute given statistic level cell value",
    "frequencies": "run_id attribute estimator given category estimate standard_error confidence low high raw "
    "simultaneous_low simultaneous_high",
    "densities": "run_id attribute estimator given x density low high cdf cdf_low cdf_high confidence",
    "functionals": "run_id attribute estimator given functional kind estimate plug_in standard_error confidence low high "
    "reason",
    "sensitivities": "run_id attribute estimator given number sensitivity is_exact",
    "levels": "run_id attribute given level statistic threshold selected",
    "budgets": "run_id attribute mechanism stated epsilon certificate charges states known_charges known_clients "
    "most_charges delta published_epsilon published_delta published_least",
    "rejects": "run_id reason count example_position",
    "batches": "run_id file sent_for reports",
    "truths": "run_id attribute given quantity x value",
    "checks": "run_id name passed observed threshold detail",
    "comparisons": "run_id other_run_id attribute given other_given functional difference standard_error correlation "
    "confidence low high deviations threshold differs reason",
    "benchmarks": "study method parameters target clients epsilon metric repetitions value low high measured_at version",
    "figures": "run_id name path",
    "schemes": "run_id description planned_clients reporting stated epsilon canonical delta published_epsilon "
    "published_delta published_crowd unpublished",
    "attributes": "run_id attribute position type unit lower upper own_variance_none own_variance_all at_most",
    "categories": "run_id attribute category position value",
    "labels": "run_id label category position reports population",
    "regressions": "run_id regression formula quantity category term kind reference reports estimate standard_error confidence "
    "low high statistic degrees p_value reason",
    "experiments": "run_id label arm control attribute functional difference standard_error low high confidence p_value "
    "adjusted_p_value outcomes ratio ratio_low ratio_high reason",
    "smoothed": "run_id attribute given number smoothed smoothed_error smoothed_low smoothed_high filtered filtered_low "
    "filtered_high forecast forecast_low forecast_high shift shift_error shift_p_value shifted",
    "weights": "run_id attribute labels reports effective_n design_effect",
    "joint": "run_id first second first_part second_part first_position second_position share estimate standard_error "
    "confidence low high",
    "associations": "run_id first second functional kind first_part second_part estimate plug_in standard_error confidence "
    "low high statistic degrees p_value reason",
    "drawings": "scheme scheme_digest source drawing round attribute epsilon delta states",
    "migrations": "version name sha256 applied_at",
}

# An applied migration is never edited: a new file gets a new line here, an old line never changes.
DIGESTS = {
    "0001_migrations": "e245f237153bda9d",
    "0002_runs": "89560b6455f349bd",
    "0003_aggregates": "589aaa1fc9f10915",
    "0004_frequencies": "4b77f40fd016555a",
    "0005_densities": "92420e5ff9c43301",
    "0006_functionals": "3413f76c35206214",
    "0007_levels": "39d4f1373cc7d01d",
    "0008_budgets": "ff97590a58950cae",
    "0009_rejects": "4172a695d8d9028e",
    "0010_truths": "6face80d55d347e8",
    "0011_checks": "de9e849f9cb1127d",
    "0012_comparisons": "bdc4d48541d38fbb",
    "0013_benchmarks": "e1157a0e42ab7d6a",
    "0014_figures": "fde56115bdfe03de",
    "0015_atoms": "39ee788396730b14",
    "0016_group_comparisons": "dfb3cfe61353e25e",
    "0017_schemes": "9d92b529a8629bea",
    "0018_attributes": "9529c52759b49a3b",
    "0019_categories": "b1d33e12fdb68ff1",
    "0020_waiting": "fa8230662e9072e5",
    "0021_batches": "0b4fd03cb3bb1b97",
    "0022_sensitivities": "ae06dff00e07e8c8",
    "0023_spending": "ed754ca38e4d2e4d",
    "0024_curve_sensitivities": "ed72f150077fd230",
    "0025_delta": "9711ac6117765a83",
    "0026_standing": "6496650707014a3b",
    "0027_drawings": "ce1d65a21ca056e8",
    "0028_own_variances": "67cf2b2697ebc065",
    "0029_forgotten": "3885bcab9844f0da",
    "0030_labels": "e05e7180d6c37842",
    "0031_weights": "e069cde7ffe25837",
    "0032_joint": "872c032d0aa1e845",
    "0033_shuffling": "2655a50aad44e625",
    "0034_least_published": "4cfb8aaf0c9e396e",
    "0035_simultaneous": "7f12b9b7248efbbf",
    "0036_regressions": "6c8d2556dbe0701b",
    "0037_smoothed": "c29cf845747b26ee",
    "0038_experiments": "be897ef677258b9b",
    "0039_sets": "be3bb6fe1ffc4e62",
    "0040_texts": "39dde4f1e91aaa5a",
    "0041_types": "04a33e55cb37242b",
}


@pytest.fixture
def warehouse(fresh):
    return str(fresh)


def test_tables_and_columns_are_those_of_the_public_contract(warehouse):
    with open_for_reading(warehouse) as connection:
        rows = connection.execute(
            "select table_name, string_agg(column_name, ' ' order by column_index) from duckdb_columns() "
            "where not internal and table_name in (select table_name from duckdb_tables()) group by table_name"
        ).fetchall()
    assert dict(rows) == TABLES


def test_every_table_view_column_and_macro_is_commented(warehouse):
    with open_for_reading(warehouse) as connection:
        bare = connection.execute(
            "select table_name || '.' || column_name from duckdb_columns() where not internal and comment is null "
            "union all select table_name from duckdb_tables() where comment is null "
            "union all select view_name from duckdb_views() where not internal and comment is null "
            "union all select function_name from duckdb_functions() "
            "where not internal and comment is null and function_name <> 'ldpflow_views'"
        ).fetchall()
    assert bare == []


def test_views_and_macros_are_read_by_clients_before_version_2():
    """They are kept as they were parsed, and `if` as a function, which DuckDB 1.4 does not have."""
    assert [name for name, sql in (*shipped_views(), *shipped_macros()) if re.search(r"\bif\s*\(", sql)] == []


def test_every_constraint_is_named_by_its_table(warehouse):
    """DuckDB forgets the names given to constraints, so the text of the files is looked at."""
    for migration in shipped_migrations():
        for line in migration.sql.splitlines():
            if "check (" in line or "primary key" in line or "unique (" in line:
                assert line.startswith(f"    constraint {migration.name}_"), line


def test_times_are_plain_timestamps_so_that_every_client_shows_utc(warehouse):
    with open_for_reading(warehouse) as connection:
        kinds = connection.execute(
            "select distinct data_type from duckdb_columns() where not internal and column_name like '%\\_at' escape '\\'"
        ).fetchall()
    assert kinds == [("TIMESTAMP",)]


def test_a_run_lands_in_every_table_that_names_it():
    assert set(RESULTS) == {table for table, columns in TABLES.items() if "run_id" in columns.split()} - {"runs"}


def test_every_result_table_has_a_latest_view(warehouse):
    assert {f"latest_{table}" for table in TABLES if table not in ("migrations", "drawings")} <= {
        name for name, _ in shipped_views()
    }


SQL = [*(m.sql for m in shipped_migrations()), *(sql for _, sql in (*shipped_views(), *shipped_macros()))]


@pytest.mark.parametrize("sql", SQL, ids=lambda sql: sql[3:40])
def test_sql_files_open_with_their_grain_and_keep_keywords_lower_case(sql):
    first, rest = sql.split("\n", 1)
    assert first.startswith("-- one row per ")
    assert sql.endswith(";\n")
    rest = re.sub(r"--.*", "", rest)
    code = " ".join(part for index, part in enumerate(rest.split("'")) if index % 2 == 0)  # without quoted text
    assert code == code.lower()


def test_a_view_file_makes_the_view_it_is_named_after_and_comments_on_its_columns():
    for name, sql in shipped_views():
        assert sql.splitlines()[1] == f"create or replace view {name} as"
        for statement in duckdb.extract_statements(sql)[1:]:
            assert statement.query.strip().startswith(f"comment on column {name}.")


def test_a_macro_file_makes_the_macro_it_is_named_after():
    for name, sql in shipped_macros():
        assert re.fullmatch(rf"create or replace macro {name}\([a-z, ]+\) as table", sql.splitlines()[1])
        assert len(duckdb.extract_statements(sql)) == 1


@pytest.mark.slow
def test_views_are_made_anew_where_they_differ_or_are_gone(warehouse):
    def comments():
        with open_for_reading(warehouse) as connection:
            return connection.execute(
                "select table_name, column_name, comment from duckdb_columns() where not internal order by all"
            ).fetchall()

    before = comments()
    for vandal in (
        "drop view latest_estimates",
        "drop macro table density_at",
        "create or replace view latest_budgets as select 1 as a; create or replace macro ldpflow_views() as 'older'",
    ):
        with duckdb.connect(warehouse) as connection:
            connection.execute(vandal)
        with open_for_writing(warehouse) as connection:
            assert connection.execute("from density_at('income', 0)").fetchall() == []
        assert comments() == before


def test_shipped_migrations_are_unedited():
    assert {f"{m.version:04d}_{m.name}": m.sha256[:16] for m in shipped_migrations()} == DIGESTS


def test_a_fresh_warehouse_records_every_migration_and_a_second_opening_applies_none(warehouse):
    def ledger():
        with open_for_reading(warehouse) as connection:
            return connection.execute("from migrations order by version").fetchall()

    before = ledger()
    assert [row[0] for row in before] == list(range(1, len(shipped_migrations()) + 1))
    with open_for_writing(warehouse) as connection:
        assert migrate(connection) == 0
    assert ledger() == before


def test_the_file_can_be_read_by_older_clients(warehouse):
    with open_for_reading(warehouse) as connection:
        (tags,) = connection.execute("select tags from duckdb_databases() where database_name = 'warehouse'").fetchone()
    assert tags["storage_version"].startswith("v1.4.0")


EARLIER = {  # rows as earlier versions had them
    "runs": "(run_id, scheme, scheme_digest, round, source, clients, accepted, rejected, randomness, seed, state, "
    "started_at, finished_at, version, flow_run_id) "
    "values ('{0}', 's', 'd', '2026-11-20', 'simulated', 9, 9, 0, 'seeded', 1, 'landed', now()::timestamp, "
    "now()::timestamp, 'v', null)",
    "frequencies": "(run_id, attribute, estimator, category, estimate, standard_error, confidence, low, high) "
    "values ('{0}', 'race', 'frequency', 'white', .5, .1, .95, .3, .7)",
    "functionals": "values ('{0}', 'income', 'projection', '', 'mean', 'smooth', 9, 9, 1, .95, 7, 11, null)",
    "comparisons": "(run_id, other_run_id, attribute, functional, difference, standard_error, confidence, low, high, "
    "reason) values ('{0}', '{1}', 'income', 'mean', 1, .5, .95, 0, 2, 'the same people'), "
    "('{0}', '{1}', 'income', 'entropy', null, null, .95, null, null, 'too noisy')",
}


QUICK = (15,)  # before and after which there was something to move


@pytest.mark.parametrize(
    "version",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in range(1, len(DIGESTS))],
)
def test_a_warehouse_of_every_earlier_version_is_brought_here_with_its_rows(tmp_path, version):
    path, known = tmp_path / "old.duckdb", shipped_migrations()
    with duckdb.connect(path) as connection:
        migrate(connection, known[:version])
        there = {name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()}
        # A view of the earlier code reads the table that a migration replaces.
        for table in there & EARLIER.keys():
            connection.execute(f"insert into {table} {EARLIER[table].format('a' * 16, 'b' * 16)}")
            connection.execute(f"create view latest_{table} as from {table}")
    with open_for_writing(path) as connection:
        assert connection.execute("select max(version) from migrations").fetchone() == (len(known),)
        counts = {table: connection.execute(f"select count(*) from {table}").fetchone()[0] for table in EARLIER}
        assert counts == {table: (2 if table == "comparisons" else 1) * (table in there) for table in EARLIER}
        if "comparisons" in there:
            rows = connection.execute("from comparisons order by functional desc").fetchall()
            correlation = 0.0 if version < 16 else None  # of rows that version 16 found
            mean = ("", "", "mean", 1.0, 0.5, correlation, 0.95, 0.0, 2.0, None, None, None, "the same people")
            assert rows[0] == ("a" * 16, "b" * 16, "income", *mean)
            assert rows[1][6:9] == (None, None, None)
        if "frequencies" in there:
            assert connection.execute("select estimate, raw from frequencies").fetchone() == (0.5, None)


LEDGER = shipped_migrations()[0]
GOOD = Migration(2, "good", "create table good (a integer);")
BAD = Migration(3, "bad", "create table half (a integer); insert into half values (1); create table good (a integer);")


@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.nightly("every case")), 15])
def test_what_a_round_asks_before_it_lands_is_answered_by_a_warehouse_of_older_code(tmp_path, version):
    path = tmp_path / "w.duckdb"
    with duckdb.connect(path) as connection:
        migrate(connection, shipped_migrations()[:version])
    assert counted_files(path, "ab") == {}
    assert standing_rounds(path) == {}


def test_a_failing_migration_leaves_the_ones_before_it_and_nothing_of_itself():
    with duckdb.connect() as connection:
        with pytest.raises(MigrationError, match=r"migration 3 \(bad\): failed: .*already exists"):
            migrate(connection, [LEDGER, GOOD, BAD])
        assert connection.execute("select version from migrations order by 1").fetchall() == [(1,), (2,)]
        assert {name for (name,) in connection.execute("select name from (show tables)").fetchall()} == {
            "good",
            "migrations",
        }
        repaired = Migration(3, "bad", "create table whole (a integer);")
        assert migrate(connection, [LEDGER, GOOD, repaired]) == 1


def test_an_edited_migration_is_refused():
    with duckdb.connect() as connection:
        migrate(connection, [LEDGER, GOOD])
        edited = Migration(2, "good", GOOD.sql + " -- improved")
        with pytest.raises(MigrationError, match=r"migration 2 \(good\): its text differs from the one applied"):
            migrate(connection, [LEDGER, edited])


def test_windows_line_ends_are_no_edit():
    assert Migration(1, "a", "x;\r\ny;\r\n").sha256 == Migration(1, "a", "x;\ny;\n").sha256


def test_a_warehouse_of_newer_code_is_refused_for_writing_and_reading(warehouse):
    with open_for_writing(warehouse) as connection:
        connection.execute(
            "insert into migrations values (?, 'tomorrow', repeat('0', 64), now())", [len(shipped_migrations()) + 1]
        )
    for opening in (open_for_writing, open_for_reading):
        with pytest.raises(MigrationError, match="update ldpflow"), opening(warehouse):
            pass


@pytest.mark.parametrize(
    "names", [["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["0002_a.sql"], ["1_a.sql"]]
)
def test_gaps_doubles_and_odd_names_are_refused(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("select 1;")
    with pytest.raises(MigrationError):
        read_migrations(tmp_path)


def test_one_file_may_hold_several(tmp_path):
    (tmp_path / "0001_to_0002.sql").write_text("-- migration: 0001_a\nselect 1;\n-- migration: 0002_b\nselect 2;\n")
    (tmp_path / "0003_c.sql").write_text("select 3;\n")
    found = [(one.version, one.name, one.sql) for one in read_migrations(tmp_path)]
    assert found == [(1, "a", "select 1;\n"), (2, "b", "select 2;\n"), (3, "c", "select 3;\n")]


def test_text_above_the_first_of_several_is_refused(tmp_path):
    (tmp_path / "0001_to_0002.sql").write_text("-- tables\n-- migration: 0001_a\nselect 1;\n")
    with pytest.raises(MigrationError, match=r"0001_to_0002\.sql: text above its first line '-- migration: NAME'"):
        read_migrations(tmp_path)


def test_a_duckdb_file_with_other_tables_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create table customers (name varchar)")
    before = path.read_bytes()
    for opening in (open_for_writing, open_for_reading):
        with pytest.raises(WarehouseError, match="has other tables") as caught, opening(path):
            pass
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_another_programs_ledger_is_not_ours(tmp_path):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create table migrations (version integer, applied_at timestamp)")
    with pytest.raises(WarehouseError, match="has other tables"), open_for_writing(path):
        pass


def test_tables_that_people_add_to_a_warehouse_survive(warehouse):
    with open_for_writing(warehouse) as connection:
        connection.execute("create table notes (text varchar); insert into notes values ('kept')")
    with open_for_writing(warehouse) as connection:
        assert connection.execute("from notes").fetchall() == [("kept",)]


@pytest.mark.parametrize("content", [b"region,sales\nnorth,3\n" * 50, b"SQLite format 3\0" + bytes(4096), b"x"])
def test_a_file_that_is_not_duckdb_is_refused_and_left_as_it_is(tmp_path, content):
    path = Path(tmp_path / "sales.csv")
    path.write_bytes(content)
    for opening in (open_for_writing, open_for_reading):
        with pytest.raises(WarehouseError) as caught, opening(path):
            pass
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_new_file_is_what_migrations_make_one_after_another(tmp_path):
    with open_for_writing(tmp_path / "new.duckdb") as made, duckdb.connect() as stepped:
        migrate(stepped)
        for asked in (
            "table_name, column_name, column_default, is_nullable, data_type, comment from duckdb_columns()",
            "table_name, constraint_text from duckdb_constraints()",
            "function_name, comment from duckdb_functions()",
            "table_name, index_name from duckdb_indexes()",
        ):
            told = [c.execute(f"select {asked} order by all").fetchall() for c in (made, stepped)]
            assert told[0] == told[1]
        ledgers = [
            c.execute("select version, name, sha256 from migrations order by all").fetchall() for c in (made, stepped)
        ]
        assert ledgers[0] == ledgers[1]
