// The controls and the pictures of bank_map.md. bankMaps is the model's data: bank_map_data.js.
(() => {
  const place = document.getElementById("bank-map");
  const chosen = {padding: 0, xor: "none", width: 1, access: "loads"};
  const controls = {padding: [0, 1, 2, 4], xor: ["none", "row", "piece"], width: [1, 2, 4], access: ["loads", "stores"]};
  const titles = {padding: "Padding, floats a row", xor: "XOR of the column", width: "Floats a piece",
                  access: "Frame shared"};
  const rungs = {"0 none 1": "20_load_conflicts", "1 none 1": "30_padded", "0 row 1": "35_swizzled",
                 "0 none 4": "40_vector_conflicts", "1 none 4": "45_vector_padded", "0 row 4": "50_vector_swizzled",
                 "0 piece 4": "65_async_copy"};
  place.innerHTML = "<style>#bank-map fieldset{display:inline-block;margin:0 1.6em .6em 0;border:0;padding:0}" +
    "#bank-map legend{padding:0;font-weight:600}#bank-map label{margin-right:.8em;white-space:nowrap}" +
    "#bank-map svg{width:100%;max-width:40rem;display:block;margin:.6em 0}" +
    "#bank-map text{font:12px ui-monospace,monospace;text-anchor:middle;fill:#0009}" +
    "#bank-map [stroke]{stroke:var(--md-default-fg-color,#111)}#bank-map [stroke]+text{fill:#000;font-weight:700}</style>";
  for (const [name, values] of Object.entries(controls)) {
    const set = place.appendChild(document.createElement("fieldset"));
    set.innerHTML = `<legend>${titles[name]}</legend>` + values.map(value =>
      `<label><input type="radio" name="${name}" value="${value}"${value === chosen[name] ? " checked" : ""}> ${value}</label>`).join("");
  }
  const said = place.appendChild(document.createElement("p"));
  said.setAttribute("aria-live", "polite");
  const picture = place.appendChild(document.createElement("div"));

  // The sectors of a request, 8 squares of 4 bytes each; all of them are used.
  function strip(sectors, y) {
    let squares = "";
    for (let k = 0; k < 8 * sectors; ++k) {
      squares += `<rect x="${4.6 * k + 3 * Math.floor(k / 8)}" y="${y}" width="4" height="8" fill="hsl(217 73% 58%)"/>`;
    }
    return squares;
  }

  // The elements that shared memory serves together: one of each lane, or the whole pieces of the first 8 or 16 lanes.
  function framed(map) {
    if (chosen.access === "loads" || !map.pieces) return new Set(map[chosen.access]);
    const served = map.stores.slice(0, 32 / map.width);
    return new Set(served.flatMap(first => Array.from({length: map.width}, (_, k) => first + k)));
  }

  function draw() {
    const map = bankMaps.find(one => one.padding == chosen.padding && one.xor === chosen.xor && one.width == chosen.width);
    const frames = framed(map), number = value => Math.round(100 * value) / 100;
    const rung = rungs[`${chosen.padding} ${chosen.xor} ${chosen.width}`];
    said.innerHTML = (rung ? `<b><a href="${rung}.html">${rung}</a></b>. ` : "") +
      `Bank conflicts: ${number(map.store_conflicts)} a shared store (${map.pieces ? "whole pieces" : "single floats"}), ` +
      `${number(map.load_conflicts)} a shared load. The tile has ${map.bytes} bytes. ` +
      `A global load has ${map.load_sectors} sectors, a global store ${map.store_sectors}:`;
    let cells = "";
    const order = [...Array(1024).keys()].sort((a, b) => frames.has(a) - frames.has(b));  // frames are drawn last, on top
    for (const e of order) {
      const bank = parseInt(map.banks[e], 32), x = e % 32 * 20, y = Math.floor(e / 32) * 20, on = frames.has(e);
      cells += `<rect x="${x}" y="${y}" width="19" height="19" fill="hsl(${bank * 360 / 32} ${on ? 90 : 55}% ${on ? 72 : 82}%)"` +
        `${on ? ' stroke="" stroke-width="2"' : ""}/><text x="${x + 9.5}" y="${y + 14}">${bank}</text>`;
    }
    picture.innerHTML =
      `<svg viewBox="0 0 642 21" role="img" aria-label="The sectors of a global load and of a global store">` +
      `${strip(map.load_sectors, 0)}${strip(map.store_sectors, 12)}</svg>` +
      `<svg viewBox="-1 -1 642 642" role="img" aria-label="The bank of each element">${cells}</svg>`;
  }
  place.addEventListener("change", event => {
    chosen[event.target.name] = event.target.value;
    draw();
  });
  draw();
})();
