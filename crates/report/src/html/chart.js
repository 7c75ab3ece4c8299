// Draws the charts of the page from their data: zoom, values under the pointer, series to switch on and off, PNG.
// Without it the page shows the same charts as fixed pictures.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "7 3", "2 2", "9 3 2 3", "16 4", "5 2 1 2", "12 3 2 3 2 3", "1 5"];
  // Bounds have the colour of the text.
  const BOUND_DASHES = ["6 4", "2 4", "12 4", "12 3 2 3"];
  const COLORS = 8;
  const MAX_DOTTED = 24;
  const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

  // --- Axes -----------------------------------------------------------------------------------------------------

  const scaled = (axis, value) => (axis.scale === "log" ? Math.log(Math.max(value, Number.MIN_VALUE)) : value);
  const unscaled = (axis, value) => (axis.scale === "log" ? Math.exp(value) : value);

  /** Where a value is: 0 at the low end of the axis, 1 at its high end. */
  function share(axis, value) {
    const [low, high] = [scaled(axis, axis.low), scaled(axis, axis.high)];
    return (scaled(axis, value) - low) / (high - low);
  }

  /** The value at a share of the axis. */
  function valueAt(axis, at) {
    const [low, high] = [scaled(axis, axis.low), scaled(axis, axis.high)];
    return unscaled(axis, low + (high - low) * at);
  }

  function grouped(value, decimals) {
    return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }

  function duration(nanos) {
    const [size, unit] = nanos >= 1e9 ? [1e9, "s"] : nanos >= 1e6 ? [1e6, "ms"] : nanos >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const value = nanos / size;
    return `${grouped(value, value >= 100 || unit === "ns" ? 0 : value >= 10 ? 1 : 2)} ${unit}`;
  }

  /** A value in words. */
  function words(axis, value) {
    switch (axis.unit) {
      case "nanos":
        return duration(value);
      case "runtime":
        return `${grouped(value, Math.abs(value) < 100 ? 1 : 0)} s`;
      case "nines": {
        const decimals = value < 1 ? 1 : Math.ceil(value) - 1;
        return `${grouped(100 * (1 - 10 ** -value), decimals)} %`;
      }
      case "names": {
        const near = axis.ticks.find(([at]) => Math.abs(at - value) < 0.5);
        return near ? near[1] : "";
      }
      default: {
        const decimals = value === 0 ? 0 : Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
        return grouped(value, Math.abs(value) >= 1000 ? 0 : decimals).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
      }
    }
  }

  /** Round values of a linear axis. */
  function roundTicks(axis) {
    const wanted = (axis.high - axis.low) / 6;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= wanted * (1 - 1e-9));
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    const ticks = [];
    for (let at = Math.ceil(axis.low / step - 1e-9) * step; at <= axis.high + step * 1e-6; at += step) {
      ticks.push([at, grouped(at === 0 ? 0 : at, decimals)]);
    }
    return ticks;
  }

  /** The part of an axis between two shares. */
  function part(axis, [from, to]) {
    if (from <= 0 && to >= 1) return axis;
    const cut = { ...axis, low: valueAt(axis, from), high: valueAt(axis, to) };
    const isContinuous = axis.scale === "linear" && (axis.unit === "number" || axis.unit === "runtime");
    cut.ticks = isContinuous ? roundTicks(cut) : axis.ticks.filter(([at]) => at >= cut.low && at <= cut.high);
    return cut;
  }

  /** The vertical axis of what is visible: zoomed, a linear one reaches as high as its lines. */
  function upright(panel, x, isHidden) {
    const axis = panel.y;
    if (axis.scale !== "linear" || axis.unit !== "number" || x === panel.x) return axis;
    let high = 0;
    panel.lines.forEach((lines, series) => {
      if (isHidden(series)) return;
      for (const line of lines) {
        for (let at = 0; at < line.length; at += 2) {
          if (line[at] >= x.low && line[at] <= x.high) high = Math.max(high, line[at + 1]);
        }
      }
    });
    if (high <= 0 || axis.low < 0) return axis;
    const cut = { ...axis, high: high * 1.05 };
    cut.ticks = roundTicks(cut);
    return cut;
  }

  // --- Drawing --------------------------------------------------------------------------------------------------

  function element(parent, name, attributes = {}, text = null) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    parent.append(made);
    return made;
  }

  /** The colours of the page, so that a saved picture has them too. */
  function palette() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const series = Array.from({ length: COLORS }, (_, number) => color(`--c${number}`));
    series.bound = color("--text");
    return { series, text: color("--text"), soft: color("--quiet"), back: color("--back"), grid: color("--grid") };
  }

  function viridis(share) {
    const at = Math.min(Math.max(share, 0), 1) * 4;
    const below = Math.min(Math.floor(at), 3);
    const mix = (channel) =>
      Math.round(VIRIDIS[below][channel] + (VIRIDIS[below + 1][channel] - VIRIDIS[below][channel]) * (at - below));
    return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
  }

  /** Dashes, width (in widths of a usual line) and name of the colour of a series, by its place among the measured ones or among the bounds. */
  function look(all, number) {
    const { bound } = all[number];
    const place = all.slice(0, number).filter((other) => Boolean(other.bound) === Boolean(bound)).length;
    if (bound) return { dash: BOUND_DASHES[place % BOUND_DASHES.length], width: 1, color: "bound" };
    const form = Math.floor(place / COLORS);
    const width = Math.floor(form / DASHES.length) % 2 === 1 ? 2 : 1;
    return { dash: DASHES[form % DASHES.length], width, color: place % COLORS };
  }

  /** Ticks whose labels do not overlap. */
  function readable(axis, width) {
    let free = -Infinity;
    return axis.ticks.map(([at, label]) => {
      const half = (label.length * 7 + 10) / 2;
      const place = width * share(axis, at);
      const fits = place - half >= free;
      if (fits) free = place + half;
      return [at, fits ? label : ""];
    });
  }

  /** One panel: frame, axes, fields, marks and lines. Returns what the pointer needs to know. */
  function drawPanel(svg, chart, panel, box, isLast) {
    const { colors, view } = chart;
    const x = part(panel.x, view);
    const y = upright(panel, x, (series) => chart.hidden.has(series));
    const across = (value) => box.left + box.width * share(x, value);
    const down = (value) => box.top + box.height * (1 - share(y, value));
    const label = element(svg, "text", { x: box.left, y: box.top - 9, fill: colors.text, "font-weight": 600 });
    label.textContent = fitting(panel.y.label, box.width);
    let free = Infinity;
    for (const [at, text] of y.ticks) {
      const place = down(at);
      element(svg, "path", { d: `M${box.left} ${place}h${box.width}`, stroke: colors.grid });
      if (free - place < 14) continue;
      free = place;
      element(svg, "text", { x: box.left - 6, y: place + 4, "text-anchor": "end", fill: colors.text }, text);
    }
    for (const [at, text] of readable(x, box.width)) {
      element(svg, "path", { d: `M${across(at)} ${box.top}v${box.height}`, stroke: colors.grid });
      const place = { x: across(at), y: box.top + box.height + 16, "text-anchor": "middle", fill: colors.text };
      if (text) element(svg, "text", place, text);
    }
    if (isLast) {
      const place = { x: box.left + box.width / 2, y: box.top + box.height + 36, "text-anchor": "middle" };
      element(svg, "text", { ...place, fill: colors.text, "font-weight": 600 }, panel.x.label);
    }
    const frame = { x: box.left, y: box.top, width: box.width, height: box.height };
    element(svg, "rect", { ...frame, fill: "none", stroke: colors.soft });
    // What lies outside of the frame is cut off.
    const inner = element(svg, "svg", { ...frame, viewBox: `${frame.x} ${frame.y} ${frame.width} ${frame.height}` });
    drawCells(inner, panel, across, down);
    drawMarks(inner, panel, across, box, colors, panel === chart.data.panels[0]);
    if (panel.marking === "bands") drawBands(inner, chart, panel, across, down);
    drawLines(inner, chart, panel, across, down);
    return { panel, x, y, box, across, down };
  }

  function drawCells(parent, panel, across, down) {
    for (const [left, right, low, high, share, value, isLabelled] of panel.cells) {
      const [x, y] = [across(left), down(high)];
      const [width, height] = [Math.max(across(right) - x, 0.5), Math.max(down(low) - y, 0.5)];
      element(parent, "rect", { x, y, width, height, fill: viridis(share) });
      if (!isLabelled || width < value.length * 7) continue;
      const place = { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" };
      element(parent, "text", { ...place, fill: share > 0.6 ? "#111" : "#fff" }, value);
    }
  }

  function drawMarks(parent, panel, across, box, colors, isFirst) {
    panel.marks.forEach(([at, low, high, label], number) => {
      const [x, y] = [across(low), box.top + 8 + 14 * number];
      const width = Math.max(across(high) - x, 3);
      const d = `M${across(at)} ${box.top}v${box.height}`;
      element(parent, "path", { d, stroke: colors.soft, "stroke-dasharray": "4 3" });
      element(parent, "rect", { x, y, width, height: 5, fill: colors.soft });
      if (isFirst) element(parent, "text", { x: x + width + 6, y: y + 6, fill: colors.soft, "font-size": 11 }, label);
    });
  }

  function path(line, across, down) {
    const steps = [];
    for (let at = 0; at < line.length; at += 2) {
      steps.push(`${at ? "L" : "M"}${across(line[at]).toFixed(1)} ${down(line[at + 1]).toFixed(1)}`);
    }
    return steps.join("");
  }

  /** The outlines between two lines, wherever both are known. */
  function between(upper, lower) {
    const places = new Map();
    for (let at = 0; at < lower.length; at += 2) places.set(lower[at], lower[at + 1]);
    const outlines = [];
    let open = [];
    const close = () => {
      const back = open.map(([x]) => [x, places.get(x)]).reverse();
      if (open.length > 1) outlines.push([...open, ...back].flat());
      open = [];
    };
    for (let at = 0; at < upper.length; at += 2) {
      if (places.has(upper[at])) open.push([upper[at], upper[at + 1]]);
      else close();
    }
    close();
    return outlines;
  }

  function drawBands(parent, chart, panel, across, down) {
    panel.lines.forEach((above, series) => {
      if (series === 0 || chart.data.series[series].bound) return;
      if (chart.hidden.has(series) || chart.hidden.has(series - 1)) return;
      above.forEach((line, number) => {
        const outlines = between(line, panel.lines[series - 1][number] || []);
        const d = outlines.map((outline) => `${path(outline, across, down)}Z`).join("");
        const fill = chart.colors.series[series % COLORS];
        if (d) element(parent, "path", { d, fill, "fill-opacity": 0.18, stroke: "none" });
      });
    });
  }

  function drawLines(parent, chart, panel, across, down) {
    const isBars = panel.marking === "bars";
    panel.lines.forEach((lines, series) => {
      if (chart.hidden.has(series)) return;
      const { dash, width: times, color } = look(chart.data.series, series);
      const isBound = color === "bound";
      const stroke = chart.colors.series[color];
      const width = isBars ? 10 : isBound ? 1.3 : 1.8 * times;
      // Of a single point nothing else is seen.
      const dotted = isBars || isBound ? 0 : panel.marking === "lines" ? MAX_DOTTED : 1;
      for (const line of lines) {
        const own = { fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round" };
        if (dash && !isBars) own["stroke-dasharray"] = dash;
        element(parent, "path", { d: path(line, across, down), ...own, "data-series": series });
        if (line.length > 2 * dotted) continue;
        for (let at = 0; at < line.length; at += 2) {
          element(parent, "circle", { cx: across(line[at]), cy: down(line[at + 1]), r: 2.8, fill: stroke });
        }
      }
    });
  }

  /** A text cut to a width in pixels. */
  function fitting(text, width) {
    const room = Math.floor(width / 6.6);
    return text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}…` : text;
  }

  /** The whole chart as an SVG element of this width; a picture to be saved has title and legend inside. */
  function draw(chart, width, isSaved = false) {
    const { data } = chart;
    chart.colors = palette();
    const longest = Math.max(...data.panels.flatMap(({ y }) => y.ticks.map(([, label]) => label.length)), 4);
    const left = Math.min(longest * 6.8 + 12, width / 2.5);
    const each = data.panels.length > 1 ? 180 : Math.min(360, Math.max(220, width * 0.42));
    const legend = isSaved ? data.series.filter((_, series) => !chart.hidden.has(series)) : [];
    const top = isSaved ? 64 : 24;
    const height = top + data.panels.length * (each + 52) + legend.length * 18 + 4;
    const svg = document.createElementNS(SVG, "svg");
    const frame = { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif" };
    for (const [key, value] of Object.entries({ ...frame, "font-size": 12 })) svg.setAttribute(key, value);
    element(svg, "rect", { width, height, fill: chart.colors.back });
    if (isSaved) {
      const title = { x: 12, y: 26, fill: chart.colors.text, "font-size": 17, "font-weight": 600 };
      element(svg, "text", title, data.title);
    }
    const panels = data.panels.map((panel, number) => {
      const box = { left, top: top + number * (each + 52), width: width - left - 14, height: each };
      return drawPanel(svg, chart, panel, box, number + 1 === data.panels.length);
    });
    legend.forEach((series, row) => {
      const [number, y] = [data.series.indexOf(series), height - (legend.length - row) * 18 + 8];
      const { dash, width: times, color } = look(data.series, number);
      const stroke = chart.colors.series[color];
      element(svg, "path", { d: `M${left} ${y - 4}h24`, stroke, "stroke-width": 2 * times, "stroke-dasharray": dash });
      element(svg, "text", { x: left + 32, y, fill: chart.colors.text }, `${series.name} (${series.run})`);
    });
    return { svg, panels, height };
  }

  // --- Values under the pointer ---------------------------------------------------------------------------------

  /** The point of the lines whose x is nearest; null where the lines have none. */
  function nearest(lines, x) {
    let best = null;
    for (const line of lines) {
      let [low, high] = [0, line.length / 2 - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (line[2 * middle] < x) low = middle;
        else high = middle;
      }
      for (const at of [low, high]) {
        if (at < 0) continue;
        const distance = Math.abs(line[2 * at] - x);
        // Of equal distance, the upper end: a bar's value.
        if (!best || distance < best.distance || (distance === best.distance && line[2 * at + 1] > best.y)) {
          best = { x: line[2 * at], y: line[2 * at + 1], distance };
        }
      }
    }
    return best;
  }

  /** The field at a place; where only the column is known, its brightest one. */
  function field(panel, x, y) {
    const column = panel.cells.filter(([left, right]) => x >= left && x < right);
    if (y !== null) return column.find(([, , low, high]) => y >= low && y < high) || null;
    return column.reduce((best, cell) => (best && best[4] >= cell[4] ? best : cell), null);
  }

  /** Shows the values at a place of a panel: a line across all panels, the values in the legend, the nearest in a note. */
  function point(chart, x, drawn, y = null) {
    chart.at = x;
    chart.svg.querySelectorAll(".cursor").forEach((old) => old.remove());
    const values = new Map();
    for (const each of chart.panels) {
      const { panel, box } = each;
      const place = each.across(x);
      if (place < box.left - 1 || place > box.left + box.width + 1) continue;
      const d = `M${place} ${box.top}v${box.height}`;
      const line = element(chart.svg, "path", { d, stroke: chart.colors.text, "stroke-width": 0.7, class: "cursor" });
      line.style.pointerEvents = "none";
      panel.lines.forEach((lines, series) => {
        const found = chart.hidden.has(series) ? null : nearest(lines, x);
        if (!found) return;
        values.set(series, [...(values.get(series) || []), words(each.y, found.y)]);
        const dot = { cx: each.across(found.x), cy: each.down(found.y), r: 3.5, class: "cursor" };
        element(chart.svg, "circle", { ...dot, fill: chart.colors.series[look(chart.data.series, series).color] });
      });
    }
    const head = words(drawn.x, x);
    const cell = field(drawn.panel, x, y);
    const said = cell ? cell[5] : [...values].map(([series, own]) => `${chart.data.series[series].name}: ${own.join(", ")}`).join("; ");
    const marks = drawn.panel.marks.map((mark) => mark[3]).join("; ");
    chart.readout.textContent = [`${head}: ${said || "no value"}`, marks].filter(Boolean).join(" — ");
    chart.legend.querySelectorAll("[data-series]").forEach((entry) => {
      const own = values.get(Number(entry.dataset.series));
      entry.querySelector(".value").textContent = own ? own.join(", ") : "";
    });
  }

  function unpoint(chart) {
    chart.at = null;
    chart.svg.querySelectorAll(".cursor").forEach((old) => old.remove());
    chart.legend.querySelectorAll(".value").forEach((value) => (value.textContent = ""));
    chart.readout.textContent = chart.hint;
  }

  // --- Zoom -----------------------------------------------------------------------------------------------------

  const charts = [];
  const isOverTime = (chart) => chart.data.panels[0].x.unit === "runtime";
  const isLinked = () => document.getElementById("link-time")?.checked ?? false;

  /** Shows this part of the horizontal axis, in shares; all charts over time follow where they are linked. */
  function zoom(chart, [from, to]) {
    const width = Math.min(Math.max(to - from, 1e-4), 1);
    const start = Math.min(Math.max(from, 0), 1 - width);
    const view = [start, start + width];
    const axis = chart.data.panels[0].x;
    const [low, high] = view.map((at) => valueAt(axis, at));
    const isWhole = width >= 1;
    for (const other of charts) {
      if (other !== chart && !(isOverTime(chart) && isOverTime(other) && isLinked())) continue;
      const own = other.data.panels[0].x;
      const shares = [share(own, low), share(own, high)].map((at) => Math.min(Math.max(at, 0), 1));
      other.view = isWhole ? [0, 1] : other === chart ? view : shares[1] - shares[0] > 1e-4 ? shares : other.view;
      redraw(other);
    }
  }

  function zoomBy(chart, factor) {
    const [from, to] = chart.view;
    const middle = chart.at === null ? (from + to) / 2 : share(chart.data.panels[0].x, chart.at);
    zoom(chart, [middle - (middle - from) * factor, middle + (to - middle) * factor]);
  }

  /** Moves the cursor; at an end of what is visible, the view. */
  function step(chart, direction) {
    const [axis, [from, to]] = [chart.data.panels[0].x, chart.view];
    const width = (to - from) / 50;
    const start = chart.at === null ? (from + to) / 2 : share(axis, chart.at);
    const at = Math.min(Math.max(start + direction * width, 0), 1);
    if (at < from || at > to) zoom(chart, [from + direction * width, to + direction * width]);
    point(chart, valueAt(axis, at), chart.panels[0]);
  }

  // --- Parts of a chart on the page -----------------------------------------------------------------------------

  function redraw(chart) {
    const width = Math.max(chart.picture.clientWidth, 260);
    const { svg, panels } = draw(chart, width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${chart.data.title}. ${chart.description}`);
    [chart.svg, chart.panels] = [svg, panels];
    chart.picture.replaceChildren(svg);
    chart.reset.disabled = chart.view[0] <= 0 && chart.view[1] >= 1;
  }

  function button(parent, text, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    parent.append(made);
    return made;
  }

  function addTools(chart) {
    const tools = chart.figure.querySelector(".tools");
    button(tools, "Zoom in", () => zoomBy(chart, 0.5));
    button(tools, "Zoom out", () => zoomBy(chart, 2));
    chart.reset = button(tools, "Show all", () => zoom(chart, [0, 1]));
    button(tools, "Save PNG", () => save(chart));
    if (chart.data.series.length > 4) {
      button(tools, "All series on", () => switchAll(chart, true));
      button(tools, "All off", () => switchAll(chart, false));
    }
    for (const made of tools.children) made.setAttribute("aria-label", `${made.textContent}: ${chart.data.title}`);
    tools.hidden = false;
  }

  function switchAll(chart, isOn) {
    chart.hidden = new Set(isOn ? [] : chart.data.series.keys());
    chart.legend.querySelectorAll("button").forEach((entry) => entry.setAttribute("aria-pressed", String(isOn)));
    redraw(chart);
  }

  /** A button for each series, under its run. */
  function addLegend(chart) {
    const colors = palette().series;
    let run = null;
    chart.data.series.forEach((series, number) => {
      if (series.run !== run && !["all", "all runs", "runs", "counted by"].includes(series.run)) {
        const heading = document.createElement("span");
        heading.className = "run";
        heading.textContent = series.run;
        chart.legend.append(heading);
      }
      run = series.run;
      const entry = button(chart.legend, "", () => {
        if (!chart.hidden.delete(number)) chart.hidden.add(number);
        entry.setAttribute("aria-pressed", String(!chart.hidden.has(number)));
        redraw(chart);
      });
      entry.dataset.series = number;
      entry.setAttribute("aria-pressed", String(!chart.hidden.has(number)));
      const sample = document.createElementNS(SVG, "svg");
      for (const [key, value] of Object.entries({ width: 26, height: 10, "aria-hidden": "true" })) sample.setAttribute(key, value);
      const { dash, width: times, color } = look(chart.data.series, number);
      const own = { d: "M1 5h24", "stroke-width": color === "bound" ? 1.5 : 3 * times, "stroke-dasharray": dash };
      element(sample, "path", { ...own, class: `sample${color}`, stroke: colors[color] });
      const name = document.createElement("span");
      name.textContent = series.name;
      const value = document.createElement("span");
      value.className = "value";
      entry.append(sample, name, value);
    });
  }

  /** Pointer and keys on the picture. */
  function listen(chart) {
    const { picture } = chart;
    let pressed = null;
    const at = (event) => {
      const frame = chart.svg.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
      const drawn = chart.panels.find(({ box }) => y < box.top + box.height + 26) || chart.panels.at(-1);
      const across = Math.min(Math.max((x - drawn.box.left) / drawn.box.width, 0), 1);
      return { drawn, across, x: valueAt(drawn.x, across), y: valueAt(drawn.y, 1 - (y - drawn.box.top) / drawn.box.height) };
    };
    picture.addEventListener("pointermove", (event) => {
      const place = at(event);
      point(chart, place.x, place.drawn, place.y);
      if (pressed === null) return;
      const { box } = place.drawn;
      const [from, to] = [pressed, place.across].sort((one, other) => one - other);
      for (const { box: own } of chart.panels) {
        const area = { x: box.left + from * box.width, y: own.top, width: (to - from) * box.width, height: own.height };
        element(chart.svg, "rect", { ...area, fill: chart.colors.text, "fill-opacity": 0.12, class: "cursor" });
      }
    });
    picture.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType === "mouse") pressed = at(event).across;
      if (event.pointerType !== "mouse") point(chart, at(event).x, at(event).drawn, at(event).y);
    });
    addEventListener("pointerup", (event) => {
      if (pressed === null) return;
      const [from, to] = [pressed, at(event).across].sort((one, other) => one - other);
      pressed = null;
      const [start, end] = chart.view;
      if (to - from > 0.01) zoom(chart, [start + from * (end - start), start + to * (end - start)]);
    });
    picture.addEventListener("pointerleave", () => pressed === null && unpoint(chart));
    picture.addEventListener("dblclick", () => zoom(chart, [0, 1]));
    const keys = {
      ArrowLeft: () => step(chart, -1),
      ArrowRight: () => step(chart, 1),
      "+": () => zoomBy(chart, 0.5),
      "-": () => zoomBy(chart, 2),
      0: () => zoom(chart, [0, 1]),
      Escape: () => unpoint(chart),
    };
    picture.addEventListener("keydown", (event) => {
      const action = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  /** Saves what is visible, twice as fine as on the screen. */
  function save(chart) {
    const { svg, height } = draw(chart, 1100, true);
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2200, 2 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      const link = document.createElement("a");
      link.download = `${chart.data.title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.png`;
      link.href = canvas.toDataURL("image/png");
      link.click();
      chart.figure.dataset.saved = link.download;
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  }

  function start(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const description = figure.querySelector("figcaption").textContent;
    const chart = { figure, data, description, view: [0, 1], hidden: new Set(), at: null };
    chart.picture = figure.querySelector(".picture");
    chart.legend = figure.querySelector(".legend");
    chart.readout = figure.querySelector("output");
    chart.hint = "";
    chart.picture.classList.remove("scroll");
    charts.push(chart);
    addTools(chart);
    addLegend(chart);
    redraw(chart);
    listen(chart);
    new ResizeObserver(() => {
      if (Math.abs(chart.picture.clientWidth - Number(chart.svg.getAttribute("width"))) > 1) redraw(chart);
    }).observe(chart.picture);
  }

  function recolor() {
    const colors = palette().series;
    document.querySelectorAll(".legend path").forEach((sample) => {
      sample.setAttribute("stroke", colors[sample.getAttribute("class").slice("sample".length)]);
    });
    charts.forEach(redraw);
  }

  function startAll(parent) {
    parent.querySelectorAll("figure.chart:not(.fixed)").forEach(start);
    parent.querySelectorAll(".with-script").forEach((part) => (part.hidden = false));
  }

  startAll(document);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  // Paper is white.
  const paper = (isPaper) => {
    document.documentElement.classList.toggle("paper", isPaper);
    recolor();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
})();
