//! A surface in three dimensions: fields of a panel raised by their share.
//!
//! The projection is oblique, as of a cabinet drawing: the horizontal axis runs along the front, the other axis recedes to the upper right,
//! heights point upwards. Equal lengths stay equal along each axis, so that heights can be compared with the scale everywhere.

use std::fmt::Write;

use super::axis::{Axis, Tick};
use super::chart::{Cell, Panel};
use super::markup::{LABEL_HEIGHT, NAME_CHARACTERS, color, text, words};

/// The label of the horizontal axis of surfaces over load.
pub(super) const IN_FLIGHT: &str = "operations in flight";

/// Height of a panel at least: what is drawn is flattened by the projection.
pub(super) const MIN_RELIEF: f64 = 380.0;

/// Shares of the width that the axis along the front and the receding one take.
const ACROSS: (f64, f64) = (0.64, 0.36);

/// Shares of the height that the receding axis and the heights take.
const UPWARDS: (f64, f64) = (0.32, 0.64);

/// Space at the right for the labels of the receding axis.
const LABELS: f64 = 70.0;

/// Width of a character, about.
const CHARACTER: f64 = 7.0;

/// A point of the surface: its place along the front and along the receding axis and its height, from 0 to 1 each.
#[derive(Debug, Clone, Copy)]
struct Corner<'a> {
    place: (f64, f64, f64),
    cell: &'a Cell,
}

/// The frame that is projected onto.
struct Projection {
    left: f64,
    width: f64,
    bottom: f64,
    height: f64,
}

impl Projection {
    fn at(&self, (front, back, up): (f64, f64, f64)) -> (f64, f64) {
        let across = ACROSS.0 * front + ACROSS.1 * back;
        let upwards = UPWARDS.0 * back + UPWARDS.1 * up;
        (self.left + self.width * across, self.bottom - self.height * upwards)
    }

    /// A line through points.
    fn path(&self, points: &[(f64, f64, f64)]) -> String {
        let points = points.iter().map(|point| self.at(*point));
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        format!("M{}", points.join("L"))
    }
}

/// The sentence instead of the picture: what is drawn, and the highest and the lowest field of each panel.
pub(super) fn described(about: &str, panels: &[Panel]) -> String {
    let of_panel = |panel: &Panel| {
        let by_share = |one: &&Cell, other: &&Cell| one.share.total_cmp(&other.share);
        let (high, low) = (panel.cells.iter().max_by(by_share)?, panel.cells.iter().min_by(by_share)?);
        let label = &panel.y.label;
        Some(format!(" {label}: highest {}, lowest {}.", named(panel, high), named(panel, low)))
    };
    format!("{about}.{}", panels.iter().filter_map(of_panel).collect::<String>())
}

/// A field in words: its value and where it is.
fn named(panel: &Panel, cell: &Cell) -> String {
    let (x, y) = (middle(cell.x), middle(cell.y));
    let across = match panel.x.label.as_str() {
        IN_FLIGHT => format!("with {} in flight", panel.x.describe(x)),
        label => format!("at {} {label}", panel.x.describe(x)),
    };
    format!("{} {across}, {}", cell.value, panel.y.describe(y))
}

fn middle(ends: (f64, f64)) -> f64 {
    (ends.0 + ends.1) / 2.0
}

/// The panel between two heights of the picture.
pub(super) fn drawn(
    panel: &Panel,
    height: &Axis,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) -> String {
    let projection = Projection { left, width: right - left - LABELS, bottom, height: bottom - top };
    let is_turned = is_turned(panel);
    let mut out = words(left, top - 10.0, "strong", "start", &text(&panel.y.label, NAME_CHARACTERS));
    out += &walls(panel, height, &projection, is_turned);
    let corners = corners(panel, is_turned);
    // What is nearer to the eye covers what is behind it: from the back to the front. The points at the very back come after the
    // strip before them, which would cut them in half.
    for row in (0..corners.len()).rev() {
        if let Some(behind) = corners.get(row + 1) {
            out += &strip(&corners[row], behind, &projection);
            if row + 2 == corners.len() {
                out += &dots(panel, behind, &projection);
            }
        }
        if row + 1 < corners.len() || corners.len() == 1 {
            out += &dots(panel, &corners[row], &projection);
        }
    }
    out
}

/// The surface as lines through the measured points, along both axes, in a square from 0 to 1: across and upwards.
pub(super) fn wires(panel: &Panel) -> Vec<Vec<(f64, f64)>> {
    let projection = Projection { left: 0.0, width: 1.0, bottom: 1.0, height: 1.0 };
    let rows = corners(panel, is_turned(panel));
    let column = |number: usize| rows.iter().map(|row| row[number]).collect::<Vec<_>>();
    let columns: Vec<_> = (0..panel.x.ticks.len()).map(column).collect();
    let lines = rows.iter().chain(&columns).flat_map(|line| line.split(|corner| corner.is_none()));
    let point = |corner: &Corner<'_>| {
        let (across, down) = projection.at(corner.place);
        (across, 1.0 - down)
    };
    let wires = lines.map(|line| line.iter().flatten().map(point).collect::<Vec<_>>());
    wires.filter(|wire| !wire.is_empty()).collect()
}

/// The three axes in words, for pictures without labels: from the front to the back, from the floor upwards.
pub(super) fn axes(panel: &Panel, height: &Axis) -> String {
    let labels = |axis: &Axis| axis.ticks.iter().map(|tick| tick.label.clone()).collect::<Vec<_>>();
    let mut back = labels(&panel.y);
    if is_turned(panel) {
        back.reverse();
    }
    format!(
        "{}: {} | front to back: {} | {}: 0 to {}",
        panel.x.label,
        labels(&panel.x).join(", "),
        back.join(", "),
        height.label,
        height.describe(height.high)
    )
}

/// Whether the first row of the vertical axis is at the back: the higher of the first and the last one is, so that it hides nothing.
fn is_turned(panel: &Panel) -> bool {
    let last = panel.y.ticks.len().saturating_sub(1) as f64;
    let sum = |row: f64| {
        let own = panel.cells.iter().filter(|cell| (middle(cell.y) - row).abs() < 0.5);
        own.map(|cell| cell.share).sum::<f64>()
    };
    sum(0.0) > sum(last)
}

/// Where a place in a list of names lies from 0 to 1.
fn spread(place: f64, axis: &Axis) -> f64 {
    match axis.ticks.len() {
        0 | 1 => 0.5,
        count => place / (count - 1) as f64,
    }
}

fn receding(place: f64, axis: &Axis, is_turned: bool) -> f64 {
    let share = spread(place, axis);
    if is_turned { 1.0 - share } else { share }
}

/// The fields by rows from the front to the back, each from the left to the right; `None` where nothing was measured.
fn corners(panel: &Panel, is_turned: bool) -> Vec<Vec<Option<Corner<'_>>>> {
    let corner = |row: &Tick, column: &Tick| {
        let is_at = |ends: (f64, f64), at: f64| (middle(ends) - at).abs() < 0.5;
        let cell = panel.cells.iter().find(|cell| is_at(cell.x, column.at) && is_at(cell.y, row.at))?;
        let (front, back) = (spread(column.at, &panel.x), receding(row.at, &panel.y, is_turned));
        Some(Corner { place: (front, back, cell.share), cell })
    };
    let row = |row: &Tick| panel.x.ticks.iter().map(|column| corner(row, column)).collect();
    let rows = panel.y.ticks.iter().map(row);
    if is_turned { rows.rev().collect() } else { rows.collect() }
}

/// The floor and both walls with their scales.
fn walls(panel: &Panel, height: &Axis, projection: &Projection, is_turned: bool) -> String {
    let mut out = String::new();
    let mut line = |points: &[(f64, f64, f64)]| {
        let _ = writeln!(out, "<path class=\"grid\" fill=\"none\" d=\"{}\"/>", projection.path(points));
    };
    for Tick { at, .. } in &height.ticks {
        let up = height.place(*at);
        line(&[(0.0, 0.0, up), (0.0, 1.0, up), (1.0, 1.0, up)]);
    }
    for Tick { at, .. } in &panel.x.ticks {
        let front = spread(*at, &panel.x);
        line(&[(front, 0.0, 0.0), (front, 1.0, 0.0), (front, 1.0, 1.0)]);
    }
    for Tick { at, .. } in &panel.y.ticks {
        let back = receding(*at, &panel.y, is_turned);
        line(&[(0.0, back, 1.0), (0.0, back, 0.0), (1.0, back, 0.0)]);
    }
    out + &scales(panel, height, projection, is_turned)
}

/// The labels of all three axes; such as would overlap are left out.
fn scales(panel: &Panel, height: &Axis, projection: &Projection, is_turned: bool) -> String {
    let mut out = String::new();
    let mut free = f64::INFINITY;
    for Tick { at, label } in &height.ticks {
        let (x, y) = projection.at((0.0, 0.0, height.place(*at)));
        if free - y >= LABEL_HEIGHT {
            free = y;
            out += &words(x - 7.0, y + 4.0, "", "end", &text(label, NAME_CHARACTERS));
        }
    }
    let mut free = f64::NEG_INFINITY;
    for Tick { at, label } in &panel.x.ticks {
        let (x, y) = projection.at((spread(*at, &panel.x), 0.0, 0.0));
        let half = label.chars().count() as f64 * CHARACTER / 2.0 + 4.0;
        if x - half >= free {
            free = x + half;
            out += &words(x, y + 17.0, "", "middle", &text(label, NAME_CHARACTERS));
        }
    }
    let (middle, below) = projection.at((0.5, 0.0, 0.0));
    out += &words(middle, below + 33.0, "strong", "middle", &text(&panel.x.label, NAME_CHARACTERS));
    let mut labels: Vec<_> = panel.y.ticks.iter().collect();
    if is_turned {
        labels.reverse();
    }
    let mut free = f64::INFINITY;
    for Tick { at, label } in labels {
        let (x, y) = projection.at((1.0, receding(*at, &panel.y, is_turned), 0.0));
        if free - y >= LABEL_HEIGHT {
            free = y;
            out += &words(x + 8.0, y + 4.0, "", "start", &text(label, NAME_CHARACTERS));
        }
    }
    out
}

/// The surface between a row and the one behind it, from the left to the right, which is nearer.
fn strip(front: &[Option<Corner<'_>>], behind: &[Option<Corner<'_>>], projection: &Projection) -> String {
    let mut out = String::new();
    for (near, far) in front.windows(2).zip(behind.windows(2)) {
        let (&[Some(a), Some(b)], &[Some(d), Some(c)]) = (near, far) else { continue };
        let corners = [a, b, c, d];
        let share = corners.iter().map(|corner| corner.place.2).sum::<f64>() / 4.0;
        let (red, green, blue) = color(share);
        let path = projection.path(&corners.map(|corner| corner.place));
        let _ = writeln!(
            out,
            "<path d=\"{path}Z\" fill=\"#{red:02x}{green:02x}{blue:02x}\" stroke=\"#222\" stroke-width=\".6\" \
             stroke-linejoin=\"round\"/>"
        );
    }
    out
}

/// The measured points of a row with their values, and how they stand over the floor where no surface bears them.
fn dots(panel: &Panel, row: &[Option<Corner<'_>>], projection: &Projection) -> String {
    let is_line = panel.x.ticks.len() < 2 || panel.y.ticks.len() < 2;
    let mut out = String::new();
    for Corner { place, cell } in row.iter().flatten() {
        if is_line {
            let path = projection.path(&[(place.0, place.1, 0.0), *place]);
            let _ = writeln!(out, "<path class=\"mark\" d=\"{path}\"/>");
        }
        let (x, y) = projection.at(*place);
        let (red, green, blue) = color(place.2);
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#{red:02x}{green:02x}{blue:02x}\" stroke=\"#222\"><title>{}</title></circle>",
            text(&named(panel, cell), NAME_CHARACTERS)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(shares: [[Option<f64>; 3]; 2]) -> Panel {
        let span = |middle: usize| (middle as f64 - 0.5, middle as f64 + 0.5);
        let cell = |row: usize, column: usize, share: f64| {
            let value = format!("{}", share * 100.0);
            Cell { x: span(column), y: span(row), share, value, is_labelled: true }
        };
        let cells = shares.iter().enumerate().flat_map(|(row, shares)| {
            shares
                .iter()
                .enumerate()
                .filter_map(move |(column, share)| share.map(|share| (row, column, share)))
        });
        let cells = cells.map(|(row, column, share)| cell(row, column, share)).collect();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let x = Axis::names("operations in flight", names(&["1", "4", "16"]).into_iter());
        let y = Axis::names("size", names(&["4 KiB", "64 <KiB>"]).into_iter());
        Panel::of_cells(x, y, cells)
    }

    fn picture(panel: &Panel) -> String {
        let height = Axis::linear("operations per second", Some(0.0), [100.0].into_iter());
        drawn(panel, &height, (80.0, 780.0), (100.0, 500.0))
    }

    /// Places of the dots by their titles.
    fn dots_of(picture: &str) -> Vec<(String, f64, f64)> {
        let number = |line: &str, name: &str| {
            let rest = line.split(&format!("{name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let dots = picture.lines().filter(|line| line.starts_with("<circle"));
        dots.map(|line| {
            let title = line.split("<title>").nth(1).unwrap().split('<').next().unwrap();
            (title.to_owned(), number(line, "cx"), number(line, "cy"))
        })
        .collect()
    }

    #[test]
    fn heights_and_places_are_projected_along_the_axes() {
        let rising = panel([[Some(0.1), Some(0.2), Some(0.4)], [Some(0.3), Some(0.6), Some(1.0)]]);
        let picture = picture(&rising);
        let dots = dots_of(&picture);
        let at = |title: &str| dots.iter().find(|dot| dot.0.starts_with(title)).unwrap();
        // The row with the lower values is in front: the others recede upwards and to the right.
        let (front, back) = (at("10 with 1 in flight"), at("30 with 1 in flight"));
        assert!((front.1, front.2) == (80.0, 474.4), "{front:?}");
        assert!((back.1 - (80.0 + 630.0 * 0.36)).abs() < 0.06 && (back.2 - 295.2).abs() < 0.06, "{back:?}");
        let (one, other) = (at("20 with 4"), at("40 with 16"));
        assert!((other.1 - one.1 - 630.0 * 0.32).abs() < 0.11, "{one:?} {other:?}");
        assert!((one.2 - other.2 - 400.0 * 0.64 * 0.2).abs() < 0.11, "{one:?} {other:?}");
        assert_eq!(picture.matches("Z\" fill").count(), 2);
        assert!(picture.contains("64 &lt;KiB&gt;") && !picture.contains("<KiB>"), "{picture}");
    }

    #[test]
    fn the_higher_row_is_at_the_back_whichever_it_is() {
        let falling = panel([[Some(0.3), Some(0.6), Some(1.0)], [Some(0.1), Some(0.2), Some(0.4)]]);
        let dots = dots_of(&picture(&falling));
        let y = |title: &str| dots.iter().find(|dot| dot.0.starts_with(title)).unwrap().2;
        assert!(y("10 with 1") > y("30 with 1"), "{dots:?}");
        // From the back to the front: what is near is drawn last.
        assert!(dots[5].0.ends_with("64 &lt;KiB&gt;"), "{dots:?}");
    }

    #[test]
    fn what_was_not_measured_has_no_surface_and_a_single_row_stands_on_the_floor() {
        let gaps = picture(&panel([[Some(0.1), None, Some(0.4)], [Some(0.3), Some(0.6), Some(1.0)]]));
        assert_eq!((gaps.matches("Z\" fill").count(), gaps.matches("<circle").count()), (0, 5));
        let mut single = panel([[Some(0.1), Some(0.2), Some(0.4)], [None; 3]]);
        single.y.ticks.truncate(1);
        let single = picture(&single);
        assert_eq!((single.matches("class=\"mark\"").count(), single.matches("<circle").count()), (3, 3));
        let nothing = panel([[None; 3]; 2]);
        assert!(!picture(&nothing).contains("<circle") && described("A", &[nothing]) == "A.");
    }

    #[test]
    fn wires_run_along_both_axes_and_are_interrupted_where_nothing_was_measured() {
        let whole = wires(&panel([[Some(0.1), Some(0.2), Some(0.4)], [Some(0.3), Some(0.6), Some(1.0)]]));
        assert_eq!(whole.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 2, 2, 2]);
        assert!(whole.iter().flatten().all(|(x, y)| (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y)));
        let gaps = wires(&panel([[Some(0.1), None, Some(0.4)], [Some(0.3), Some(0.6), Some(1.0)]]));
        assert_eq!(gaps.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 3, 2, 1, 2]);
    }

    #[test]
    fn the_text_alternative_names_the_highest_and_the_lowest() {
        let rising = panel([[Some(0.1), Some(0.2), Some(0.4)], [Some(0.3), Some(0.6), Some(1.0)]]);
        assert_eq!(
            described("Rates", &[rising]),
            "Rates. size: highest 100 with 16 in flight, 64 <KiB>, lowest 10 with 1 in flight, 4 KiB."
        );
    }
}
