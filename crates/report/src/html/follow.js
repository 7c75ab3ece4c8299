  // --- Following ------------------------------------------------------------------------------------------------
  // The end of chart.js in pages that are served. A run that goes on, and the list of runs, are fetched again and again. Only
  // what has changed is replaced: zoom, focus, ticks, switched-off series and opened parts stay.

  const CONTROLS = "a, button, input, select, summary, [tabindex]";

  /** What a control is called, by which it is found again. */
  function nameOf(control) {
    const attributes = ["name", "value", "href", "aria-label"].map((name) => control.getAttribute(name));
    const text = control.matches("a, button, summary") ? control.textContent : "";
    return [control.tagName, ...attributes, text].join("\n");
  }

  /** Replaces the content of a part of the page by that of another page. */
  function update(part, other) {
    if (part.innerHTML === other.innerHTML) return;
    const all = (selector) => [...part.querySelectorAll(selector)];
    const ticked = new Set(all("input:checked").map(nameOf));
    const opened = new Set(all("details[open] > summary").map(nameOf));
    const scrolled = new Map(all(".scroll").map((region) => [nameOf(region), region.scrollLeft]));
    const focus = part.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    part.replaceChildren(...document.importNode(other, true).childNodes);
    for (const input of all("input")) input.checked = ticked.has(nameOf(input));
    for (const summary of all("details > summary")) summary.parentElement.open = opened.has(nameOf(summary));
    for (const region of all(".scroll")) region.scrollLeft = scrolled.get(nameOf(region)) || 0;
    if (focus !== null) all(CONTROLS).find((control) => nameOf(control) === focus)?.focus({ preventScroll: true });
  }

  const seriesNames = (data) => data.series.map(({ run, name }) => `${run}\n${name}`);

  /** Draws a chart from newer data. */
  function renew(chart, other) {
    const [own, newer] = [chart.figure, other].map((figure) => figure.querySelector("script"));
    if (own.textContent === newer.textContent) return;
    const before = chart.data;
    const isWhole = chart.view[0] <= 0 && chart.view[1] >= 1;
    const range = chart.view.map((at) => valueAt(before.panels[0].x, at));
    const off = new Set([...chart.hidden].map((number) => seriesNames(before)[number]));
    own.textContent = newer.textContent;
    chart.data = JSON.parse(newer.textContent);
    const names = seriesNames(chart.data);
    chart.hidden = new Set([...names.keys()].filter((number) => off.has(names[number])));
    const shares = range.map((value) => Math.min(Math.max(share(chart.data.panels[0].x, value), 0), 1));
    chart.view = isWhole || !(shares[1] - shares[0] > 1e-4) ? [0, 1] : shares;
    if (names.join("\n\n") !== seriesNames(before).join("\n\n")) {
      const focus = chart.legend.contains(document.activeElement) ? document.activeElement.querySelector("span").textContent : null;
      chart.legend.replaceChildren();
      addLegend(chart);
      const entries = [...chart.legend.querySelectorAll("button")];
      if (focus !== null) entries.find((entry) => entry.querySelector("span").textContent === focus)?.focus({ preventScroll: true });
    }
    for (const part of ["figcaption", "details"]) {
      update(chart.figure.querySelector(part), other.querySelector(part));
    }
    chart.description = chart.figure.querySelector("figcaption").textContent;
    redraw(chart);
    if (chart.at !== null) point(chart, chart.at, chart.panels[0]);
  }

  /** A chart that was not there before; its identifiers are new on the page. */
  function add(other, after) {
    const figure = document.importNode(other, true);
    figure.id = `chart-${charts.length}-added`;
    const caption = figure.querySelector("figcaption");
    caption.id = `description-${charts.length}-added`;
    figure.querySelector(".picture").setAttribute("aria-describedby", caption.id);
    after.after(figure);
    start(figure);
    return figure;
  }

  /** The charts by their kind and number among those of the kind. */
  function byKind(figures) {
    const seen = new Map();
    return [...figures].map((figure) => {
      const number = (seen.get(figure.dataset.kind) || 0) + 1;
      seen.set(figure.dataset.kind, number);
      return [`${figure.dataset.kind} ${number}`, figure];
    });
  }

  /** Shows what has changed. */
  function follow(page) {
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = page.getElementById(part.id);
      if (other) update(part, other);
    }
    const [own, other] = [document, page].map((of) => of.getElementById("charts"));
    if (own && other && charts.length === 0 && other.querySelector("figure.chart")) {
      own.replaceChildren(...document.importNode(other, true).childNodes);
      startAll(own);
    } else if (own && other) {
      const known = new Map(byKind(document.querySelectorAll("figure.chart")));
      let last = own.lastElementChild;
      for (const [kind, figure] of byKind(other.querySelectorAll("figure.chart"))) {
        const mine = known.get(kind);
        if (mine) renew(charts.find((chart) => chart.figure === mine), figure);
        last = mine || add(figure, last);
      }
    }
    document.body.dataset.follow = page.body.dataset.follow || "";
  }

  function followLater() {
    const seconds = Number(document.body.dataset.follow);
    if (!(seconds > 0)) return;
    setTimeout(async () => {
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        if (answer.ok) follow(new DOMParser().parseFromString(await answer.text(), "text/html"));
      } catch {
        // The server does not respond; perhaps it does later.
      }
      followLater();
    }, 1000 * seconds);
  }

  followLater();
