//! A chart as a scalable picture (SVG), for light and dark backgrounds.

use std::fmt::Write;

use super::axis::{Axis, Tick};
use super::chart::{Cell, Chart, Mark, Marking, Panel, Series};
use super::markup::{LABEL_HEIGHT, NAME_CHARACTERS, color, text, words};
use super::relief::{self, MIN_RELIEF};

/// Characters of a line of the legend.
const LEGEND_CHARACTERS: usize = 44;

/// Characters of the sentence instead of the picture.
const DESCRIPTION_CHARACTERS: usize = 1000;

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 780.0;
const TOP: f64 = 78.0;
const PLOT_HEIGHT: f64 = 530.0;
/// A panel is no flatter than this: more of them make the picture higher.
const MIN_PANEL: f64 = 140.0;
const BETWEEN_PANELS: f64 = 60.0;
const LEGEND_LINE: f64 = 17.0;

/// Lines of different colours before the dashes change.
const COLORS: usize = 8;

/// Colours of areas.
const FILLS: usize = 5;

/// Points of a line at most that are drawn as dots, too.
const MAX_DOTTED: usize = 24;

/// Dashes of a line, all colours with each; beyond, all of them with wide lines.
const DASHES: [&str; 8] = ["none", "7 3", "2 2", "9 3 2 3", "16 4", "5 2 1 2", "12 3 2 3 2 3", "1 5"];

/// Dashes of bounds, which have one colour.
const BOUND_DASHES: [&str; 4] = ["6 4", "2 4", "12 4", "12 3 2 3"];

/// Colours by Okabe and Ito, which are distinguishable with colour blindness; black and the yellow adapted to the background.
const STYLE: &str = "\
text{font-family:system-ui,sans-serif;font-size:12px;fill:#222}\
.title{font-size:18px;font-weight:600}.strong{font-weight:600}.note{fill:#555}\
.back{fill:#fff}.frame{fill:none;stroke:#888}.grid{stroke:#ddd}\
.line{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\
.wide{stroke-width:3.4}.dot{stroke-width:6}.dark{fill:#111}.bright{fill:#fff}\
.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#cc79a7}\
.f0{fill:#0072b2}.f1{fill:#d55e00}.f2{fill:#009e73}.f3{fill:#cc79a7}.f4{fill:#e69f00}\
.area{fill-opacity:.15;stroke:none}.bar{stroke-width:10;stroke-linecap:butt}\
.bound{stroke:#222;stroke-width:1.2}.mark{stroke:#888;stroke-dasharray:4 3}.interval{fill:#888}\
.c4{stroke:#e69f00}.c5{stroke:#56b4e9}.c6{stroke:#000}.c7{stroke:#c9b800}\
@media (prefers-color-scheme:dark){text{fill:#ddd}.bound{stroke:#ddd}.note{fill:#aaa}.back{fill:#16181c}\
.grid{stroke:#33363c}.c0{stroke:#3a9bd9}.c6{stroke:#fff}.c7{stroke:#f0e442}}";

/// The chart as an SVG document.
pub fn svg(chart: &Chart) -> String {
    let legend = legend(chart);
    let count = chart.panels.len().max(1) as f64;
    let is_relief = chart.panels.iter().any(|panel| panel.height.is_some());
    let at_least = if is_relief { MIN_RELIEF } else { MIN_PANEL };
    let each = ((PLOT_HEIGHT - BETWEEN_PANELS * (count - 1.0)) / count).max(at_least);
    let plots = TOP + count * (each + BETWEEN_PANELS);
    let height = plots.max(TOP + LEGEND_LINE * (legend.matches("<text").count() as f64 + 2.0));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n\
         <style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n",
        text(&chart.title, NAME_CHARACTERS),
        text(&chart.description, DESCRIPTION_CHARACTERS)
    );
    out += &words(LEFT, 32.0, "title", "start", &text(&chart.title, NAME_CHARACTERS));
    if let Some(note) = &chart.note {
        out += &words(LEFT, 50.0, "note", "start", &text(note, NAME_CHARACTERS));
    }
    for (number, panel) in chart.panels.iter().enumerate() {
        let top = TOP + number as f64 * (each + BETWEEN_PANELS);
        out += &match &panel.height {
            Some(height) => relief::drawn(panel, height, (LEFT, RIGHT), (top, top + each)),
            None => drawn(panel, &chart.series, (top, top + each), number + 1 == chart.panels.len()),
        };
    }
    out + &legend + "</svg>\n"
}

/// A frame between two heights, with its axes and lines.
fn drawn(panel: &Panel, series: &[Series], (top, bottom): (f64, f64), is_last: bool) -> String {
    let across = |value: f64| LEFT + (RIGHT - LEFT) * panel.x.place(value);
    let down = |value: f64| bottom - (bottom - top) * panel.y.place(value);
    let mut out = words(LEFT, top - 10.0, "strong", "start", &text(&panel.y.label, NAME_CHARACTERS));
    let mut free = f64::INFINITY;
    for Tick { at, label } in &panel.y.ticks {
        let y = down(*at);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
        if free - y >= LABEL_HEIGHT {
            free = y;
            out += &words(LEFT - 7.0, y + 4.0, "", "end", &text(label, NAME_CHARACTERS));
        }
    }
    for Tick { at, label } in readable(&panel.x) {
        let x = across(*at);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>");
        out += &words(x, bottom + 17.0, "", "middle", &text(label, NAME_CHARACTERS));
    }
    if is_last {
        let middle = (LEFT + RIGHT) / 2.0;
        out += &words(middle, bottom + 38.0, "strong", "middle", &text(&panel.x.label, NAME_CHARACTERS));
    }
    let (width, height) = (RIGHT - LEFT, bottom - top);
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
    );
    for cell in &panel.cells {
        out += &field(cell, (across(cell.x.0), across(cell.x.1)), (down(cell.y.1), down(cell.y.0)));
    }
    let place = |(x, y): &(f64, f64)| (across(*x), down(*y));
    out += &marks(panel, &across, (top, bottom));
    if panel.marking == Marking::Bands {
        out += &areas(panel, series, place);
    }
    out + &lines(panel, series, place)
}

/// The lines of all series; few points are dots, too.
fn lines(panel: &Panel, series: &[Series], place: impl Fn(&(f64, f64)) -> (f64, f64)) -> String {
    let is_bars = panel.marking == Marking::Bars;
    // Of a single point nothing else is seen.
    let dotted = if panel.marking == Marking::Lines { MAX_DOTTED } else { 1 };
    let mut out = String::new();
    for (number, (lines, own)) in panel.lines.iter().zip(series).enumerate() {
        let (mut path, mut dots) = (String::new(), String::new());
        for line in lines {
            let is_dotted = line.len() <= dotted && !is_bars && !own.is_bound;
            for (at, (x, y)) in line.iter().map(&place).enumerate() {
                let command = if at == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{command}{x:.1} {y:.1}");
                if is_dotted {
                    // A line of no length has round ends.
                    let _ = write!(dots, "M{x:.1} {y:.1}h0");
                }
            }
        }
        let name = text(&format!("{}, run {}", own.name, own.run), NAME_CHARACTERS);
        let color = Series::ordinal(series, number) % COLORS;
        let look = if is_bars { format!("class=\"bar c{color}\"") } else { stroke(series, number) };
        let _ = writeln!(out, "<path {look} d=\"{path}\"><title>{name}</title></path>");
        if !dots.is_empty() {
            let _ = writeln!(out, "<path class=\"line dot c{color}\" d=\"{dots}\"/>");
        }
    }
    out
}

/// Values of the horizontal axis that are pointed out, with their intervals; each has a height of its own.
fn marks(panel: &Panel, across: &dyn Fn(f64) -> f64, (top, bottom): (f64, f64)) -> String {
    let mut out = String::new();
    for (number, Mark { at, interval, label }) in panel.marks.iter().enumerate() {
        let (low, high, at) = (across(interval.0), across(interval.1), across(*at));
        let y = top + 8.0 + 14.0 * number as f64;
        let label = text(label, NAME_CHARACTERS);
        let _ = writeln!(
            out,
            "<path class=\"mark\" d=\"M{at:.1} {top}V{bottom}\"/>\n\
             <rect class=\"interval\" x=\"{low:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"5\"><title>{label}</title></rect>",
            (high - low).max(3.0)
        );
        out += &words(high.max(at) + 6.0, y + 6.0, "note", "start", &label);
    }
    out
}

/// The areas between each series and the one before it, wherever both are known.
fn areas(panel: &Panel, series: &[Series], place: impl Fn(&(f64, f64)) -> (f64, f64)) -> String {
    let mut out = String::new();
    let measured = series.iter().take_while(|series| !series.is_bound).count().min(panel.lines.len());
    for (number, pair) in panel.lines[..measured].windows(2).enumerate() {
        let mut path = String::new();
        for (lower, upper) in pair[0].iter().zip(&pair[1]) {
            let known = |point: &&(f64, f64)| lower.iter().find(|below| below.0 == point.0);
            for known_run in upper.split(|point| known(&point).is_none()).filter(|run| run.len() > 1) {
                let back = known_run.iter().rev().filter_map(|point| known(&point));
                let points = known_run.iter().chain(back).map(&place);
                let points: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
                let _ = write!(path, "M{}Z", points.join("L"));
            }
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path class=\"area f{}\" d=\"{path}\"/>", (number + 1) % FILLS);
        }
    }
    out
}

/// A coloured field, with its value.
fn field(cell: &Cell, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> String {
    let (red, green, blue) = color(cell.share);
    let value = text(&cell.value, NAME_CHARACTERS);
    let mut out = format!(
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#{red:02x}{green:02x}{blue:02x}\">\
         <title>{value}</title></rect>\n",
        (right - left).max(0.5),
        (bottom - top).max(0.5)
    );
    if cell.is_labelled {
        let class = if cell.share > 0.6 { "dark" } else { "bright" };
        out += &words((left + right) / 2.0, (top + bottom) / 2.0 + 4.0, class, "middle", &value);
    }
    out
}

/// The ticks of a horizontal axis whose labels do not overlap.
fn readable(axis: &Axis) -> impl Iterator<Item = &Tick> {
    let mut free = f64::NEG_INFINITY;
    axis.ticks.iter().filter(move |tick| {
        let half = (tick.label.chars().count() as f64 * 7.0 + 8.0) / 2.0;
        let at = (RIGHT - LEFT) * axis.place(tick.at);
        let fits = at - half >= free;
        if fits {
            free = at + half;
        }
        fits
    })
}

/// The names of the series beside the frame, under their runs.
fn legend(chart: &Chart) -> String {
    let (mut out, mut y, mut run) = (String::new(), TOP, None);
    for (number, series) in chart.series.iter().enumerate() {
        if run != Some(&series.run) {
            out += &words(RIGHT + 22.0, y, "strong", "start", &text(&series.run, LEGEND_CHARACTERS));
            run = Some(&series.run);
            y += LEGEND_LINE;
        }
        let (left, right) = (RIGHT + 22.0, RIGHT + 46.0);
        let _ = writeln!(out, "<path {} d=\"M{left} {}H{right}\"/>", stroke(&chart.series, number), y - 4.0);
        out += &words(right + 7.0, y, "", "start", &text(&series.name, LEGEND_CHARACTERS));
        y += LEGEND_LINE;
    }
    out
}

/// The looks of a series.
fn stroke(series: &[Series], number: usize) -> String {
    let place = Series::ordinal(series, number);
    if series.get(number).is_some_and(|series| series.is_bound) {
        return format!(
            "class=\"line bound\" stroke-dasharray=\"{}\"",
            BOUND_DASHES[place % BOUND_DASHES.len()]
        );
    }
    let dashes = DASHES[place / COLORS % DASHES.len()];
    let wide = if place / (COLORS * DASHES.len()) % 2 == 1 { " wide" } else { "" };
    format!("class=\"line c{}{wide}\" stroke-dasharray=\"{dashes}\"", place % COLORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str) -> Chart {
        let y = Axis::log_time("response time", [1e5, 1e6].into_iter());
        let x = Axis::linear("seconds", None, [0.0, 10.0].into_iter());
        let lines = vec![vec![vec![(0.0, 1e5), (5.0, 1e6)], vec![(10.0, 2e5)]]];
        Chart {
            title: name.to_owned(),
            description: name.to_owned(),
            series: vec![Series::new(name, name)],
            panels: vec![Panel::of_lines(x, y, lines)],
            note: Some(name.to_owned()),
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "</text><script>alert(\"1\" & '2')</script>\n\r\u{0}\u{202e}\u{ffff}";
        let out = svg(&chart(hostile));
        assert!(!out.contains("<script") && !out.contains("alert(\"1"), "{out}");
        let name =
            "&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\\n\\r\\u{0}";
        assert!(out.contains(&format!("<title id=\"title\">{name}\\u{{202e}}\u{fffd}</title>")), "{out}");
        assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out}");
        let long = svg(&chart(&"x<".repeat(5_000)));
        assert!(long.len() < 20_000 && long.contains("x…</text>"), "{}", long.len());
    }

    #[test]
    fn the_document_has_its_alternative_text_and_points_inside_the_frame() {
        let out = svg(&chart("a"));
        assert!(out.starts_with("<svg xmlns=") && out.contains("role=\"img\"") && out.contains("<desc id"));
        assert!(out.contains("prefers-color-scheme:dark"));
        let path = out.lines().find(|line| line.contains("</title></path>")).unwrap();
        assert!(path.contains(" d=\"M80.0 608.0L430.0 78.0M780.0 448.5\""), "{path}");
        let opened = out.matches("<text").count();
        assert_eq!(opened, out.matches("</text>").count());
    }

    #[test]
    fn all_series_of_a_chart_with_many_panels_have_different_looks() {
        let series: Vec<Series> = (0..128).map(|number| Series::new("run", number.to_string())).collect();
        let looks: std::collections::BTreeSet<String> =
            (0..series.len()).map(|number| stroke(&series, number)).collect();
        assert_eq!(looks.len(), series.len());
        // The page's script draws the same lines.
        let script = include_str!("../html/chart.js");
        let dashes =
            DASHES.map(|dashes| if dashes == "none" { "\"\"".to_owned() } else { format!("\"{dashes}\"") });
        assert!(script.contains(&format!("const DASHES = [{}];", dashes.join(", "))));
    }

    #[test]
    fn labels_that_would_overlap_are_left_out() {
        let axis = Axis::nines("", 9.5);
        let shown: Vec<_> = readable(&axis).map(|tick| tick.label.as_str()).collect();
        assert_eq!(shown[..4], ["0 %", "90 %", "99 %", "99.9 %"], "{shown:?}");
    }
}
