"""What the demo's conversations were about: workspaces, their files, and a line for each conversation. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Workspace(NamedTuple):
    """A made-up project."""

    folder: str  # below the demo's home
    language: str
    files: tuple[str, ...]
    names: tuple[str, ...]  # functions and types that are talked about
    code: str  # one of its functions, `{0}` a name
    test: str  # the command that tests it


class Story(NamedTuple):
    """A conversation: whose, when, about what, how long."""

    account: str
    workspace: str
    days: float  # since it began
    asks: str  # the first prompt
    exchanges: int
    traits: str = ""  # by comma: code, tools, branch, side, agents, compact, long, refused, interrupted
    name: str = ""  # that a person gave it
    is_pinned: bool = False
    model: str = ""  # pool by which we started it; empty: the CLI was started by hand


WORKSPACES = {
    space.folder.rpartition("/")[2]: space
    for space in (
        Workspace(
            "work/turtle-maps",
            "python",
            ("tiles/render.py", "tiles/cache.py", "routes/walk.py", "tests/test_walk.py"),
            ("render_tile", "TileCache", "shortest_walk", "simplify"),
            "def {0}(path: Path, zoom: int) -> bytes:\n    key = path.stem, zoom\n    if key in _seen:\n"
            "        return _seen[key]\n    _seen[key] = encode(load(path), zoom)\n    return _seen[key]",
            "pytest -q",
        ),
        Workspace(
            "work/harbour-api",
            "go",
            ("cmd/harbour/main.go", "internal/berth/plan.go", "internal/berth/plan_test.go", "internal/tide/table.go"),
            ("PlanBerths", "TideTable", "Retry", "handleArrival"),
            "func {0}(ctx context.Context, ship Ship) (Berth, error) {{\n\tctx, cancel := context.WithTimeout(ctx, "
            "planTimeout)\n\tdefer cancel()\n\tfree, err := berths.Free(ctx, ship.Length)\n\tif err != nil {{\n\t\t"
            'return Berth{{}}, fmt.Errorf("free berths: %w", err)\n\t}}\n\treturn closest(free, ship), nil\n}}',
            "go test ./...",
        ),
        Workspace(
            "work/seed-shop",
            "typescript",
            ("src/basket.ts", "src/checkout/total.ts", "src/checkout/total.test.ts", "src/shelf/search.tsx"),
            ("basketTotal", "useShelf", "applyVoucher", "SearchBox"),
            "export function {0}(items: Item[], voucher?: Voucher): Cents "
            "{{\n  const sum = items.reduce((total, item) => "
            "total + item.price * item.count, 0);\n  return voucher ? Math.max(0, sum - voucher.amount) : sum;\n}}",
            "npm test",
        ),
        Workspace(
            "work/night-train",
            "rust",
            ("src/timetable.rs", "src/search/raptor.rs", "src/search/mod.rs", "benches/search.rs"),
            ("earliest_arrival", "Timetable", "Transfer", "relax"),
            "pub fn {0}(table: &Timetable, from: Stop, at: Minute) -> Option<Journey> "
            "{{\n    let mut best = vec![Minute::MAX; "
            "table.stops()];\n    best[from] = at;\n    for round in 0..MAX_TRANSFERS "
            "{{\n        if !relax(table, &mut best, "
            "round) {{ break; }}\n    }}\n    Journey::collect(&best)\n}}",
            "cargo test",
        ),
        Workspace(
            "notes/cookbook",
            "markdown",
            ("bread.md", "soups/lentil.md", "index.md", "scripts/scale.py"),
            ("the bread page", "the index", "scale", "the lentil soup"),
            "| for | flour | water | salt |\n|---|---|---|---|\n| 1 loaf | 500 g | 340 g | 10 g |\n| {0} | 1 kg "
            "| 680 g | 20 g |",
            "python scripts/scale.py --check",
        ),
        Workspace(
            "infra/greenhouse",
            "yaml",
            ("deploy/sensors.yaml", "deploy/alerts.yaml", "dashboards/humidity.json", "bin/rotate-logs"),
            ("sensor-gateway", "humidity alert", "rotate-logs", "retention"),
            "alert: {0}\nexpr: avg_over_time(humidity_percent[10m]) < 35\nfor: 15m\nlabels:\n  severity: page\n"
            'annotations:\n  summary: "bed {{{{ $labels.bed }}}} is dry"',
            "promtool check rules deploy/alerts.yaml",
        ),
    )
}

# Two lines each: account, workspace, days since it began, exchanges, traits, pool by which we started it | name;
# then the prompt.
# A name that begins with * is pinned. Without a pool the CLI was started by hand.
_TABLE = """\
claude2 turtle-maps  0.02  6   code,tools               -
    The tile cache grows without end on the big maps. Find out why and bound it.
codex1  harbour-api  0.04  5   tools                    demo-codex
    PlanBerths times out when the tide table is empty. Reproduce it first.
claude1 seed-shop    0.12  5   code,tools               -
    A voucher of 0 cents makes the total NaN. Fix it with a failing test first.
claude1 night-train  9.2   420 long,tools,code,compact  - | *the big port
    Port the journey search from the old planner, step by step, tests green after each step.
claude2 night-train  0.21  4   code,tools,agents        -
    Why is the second round of the search slower than the first?
codex2  greenhouse   0.3   4   tools                    -
    The humidity alert fires every night at 03:00. Is it the sensors or the rule?
claude2 cookbook     0.9   2   code                     demo-haiku
    Scale the bread page to six loaves and keep the percentages
codex1  turtle-maps  1.0   3   tools                    demo-codex
    Review the last three commits as if you had never seen the project
claude1 harbour-api  1.1   7   code,tools,branch        - | *berths by quay
    Draft the migration that splits berths by quay, reversible
claude2 seed-shop    1.2   5   code,tools,side          -
    Make the search box keep its focus while results stream in
codex2  seed-shop    1.9   2   tools                    demo-codex
    List every place where prices are rounded, with file and line
claude3 turtle-maps  2.6   3   code                     -
    Explain shortest_walk to somebody who knows graphs but not this code
claude1 greenhouse   2.9   4   code,tools               -
    Rotate logs without losing the last line of a crashed gateway
codex1  night-train  3.1   6   tools,compact            demo-codex
    Fuzz the timetable parser for ten minutes and minimise what you find
claude2 harbour-api  3.2   6   code,tools,agents        - | missing tests
    Which endpoints have no test at all? Write the three most useful ones.
claude3 cookbook     3.4   2   code                     -
    Turn the lentil soup into a page for four, eight and twenty people
codex2  turtle-maps  5.8   4   code,tools               -
    Write a benchmark for render_tile that does not lie
claude1 seed-shop    6.1   8   code,tools,branch,side   -
    Basket totals differ by a cent between server and client
claude2 greenhouse   6.9   4   code,interrupted         -
    Sketch a dashboard for humidity by bed; ask me before you choose colours
codex1  harbour-api  7.2   5   tools,refused            demo-codex
    Upgrade the router and tell me what breaks
claude3 night-train  7.9   5   code,tools               -
    Would bit sets make relax faster? Measure, do not guess.
claude1 cookbook     8.3   1   -                        demo-haiku
    A haiku for the index page
codex2  night-train  8.8   2   tools                    demo-codex
    Count how often transfers under two minutes are offered
claude2 turtle-maps  9.6   6   code,tools               -
    Split render.py into what draws and what decides
codex1  seed-shop    10.2  7   code,tools               -
    Type the shelf store strictly; no any, no casts
claude1 harbour-api  12.7  4   code,tools               -
    Tides are off by an hour since Sunday. Daylight saving?
claude2 cookbook     13.9  2   tools                    -
    Check that all links of the index lead somewhere
codex2  greenhouse   15.2  2   code                     -
    Explain the retention settings line by line
claude3 seed-shop    16.4  3   code                     -
    What would it take to sell in two currencies?
claude1 turtle-maps  18.5  3   tools,side               -
    Draw the module graph and mark the cycles
codex1  night-train  20.1  5   tools                    -
    Bisect the slow build between the last two tags
claude2 harbour-api  22.8  2   code                     -
    Name five ways in which Retry can wait forever
claude1 greenhouse   25.3  5   code,tools               -
    Move the sensor gateway to the new cluster, dry run only
claude2 night-train  27.4  3   code                     - | *why RAPTOR
    Keep the decision record for the search algorithm short
claude3 turtle-maps  28.6  2   -                        -
    Find a better name for simplify
claude1 seed-shop    29.3  2   tools                    -
    First look: what is in this repository?
"""


def _story(row: str, asks: str) -> Story:
    head, _, name = (part.strip() for part in row.partition("|"))
    account, workspace, days, exchanges, traits, pool = head.split()
    return Story(
        account=f"demo-{account}",
        workspace=workspace,
        days=float(days),
        asks=asks.strip(),
        exchanges=int(exchanges),
        traits="" if traits == "-" else traits,
        name=name.removeprefix("*"),
        is_pinned=name.startswith("*"),
        model="" if pool == "-" else pool,
    )


STORIES = tuple(map(_story, _TABLE.splitlines()[::2], _TABLE.splitlines()[1::2]))
