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
  const { at, lines } = JSON.parse(figure.dataset.chart);
  const faint = ink("--faint");
  const grid = { stroke: ink("--line"), width: 1 };
  const axis = { stroke: faint, grid, ticks: grid, font: "12px system-ui, sans-serif" };
  const series = lines.map((line) => ({ label: line.name, stroke: ink(INKS[line.kind]), width: 2, points: { show: at.length < 3 } }));
  const options = {
    width: figure.clientWidth,
    height: 200,
    series: [{}, ...series],
    axes: [axis, { ...axis, size: 50, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000] }],
    scales: { y: { range: (_, low, high) => [0, Math.max(high, 4)] } },
  };
  return new uPlot(options, [at, ...lines.map((line) => line.values)], figure);
}

function drawAll(charts) {
  for (const [figure, chart] of charts) {
    chart?.destroy();
    charts.set(figure, draw(figure));
  }
}

const charts = new Map([...document.querySelectorAll("[data-chart]")].map((figure) => [figure, null]));
if (charts.size) {
  drawAll(charts);
  let waiting = 0;
  const again = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => drawAll(charts));
  };
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}
