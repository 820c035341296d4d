// Figures as lines over time. What they say also stands in a table below; without scripts that is all there is.

const INKS = { depth: "--calm", dead_letters: "--bad", failing: "--warn", polls: "--calm", finished: "--good", failed: "--bad" };

function ink(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function draw(figure) {
  const { shown, at, lines } = JSON.parse(figure.dataset.chart);
  const faint = ink("--faint");
  const grid = { stroke: ink("--line"), width: 1 };
  const axis = { stroke: faint, grid, ticks: grid, font: "12px system-ui, sans-serif" };
  const series = lines.map((line) => ({ label: line.name, stroke: ink(INKS[line.kind]), width: 2, points: { show: at.length < 3 } }));
  const options = {
    width: Math.round(figure.clientWidth),
    height: 200,
    series: [{}, ...series],
    axes: [axis, { ...axis, size: 50, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000] }],
    scales: { x: { range: shown }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, 4)] } },
  };
  return new uPlot(options, [at, ...lines.map((line) => line.values)], figure);
}

const charts = new Map();

function redraw(figure) {
  charts.get(figure)?.destroy();
  charts.delete(figure);
  if (figure.clientWidth) charts.set(figure, draw(figure));
}

// A figure has no width until the page shows what needs scripts, and another one when the window has.
const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (charts.get(target)?.width !== Math.round(contentRect.width)) redraw(target);
  }
});
for (const figure of document.querySelectorAll("[data-chart]")) widths.observe(figure);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => [...charts.keys()].forEach(redraw));
