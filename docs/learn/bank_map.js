// The controls and the picture of bank_map.md. bankMaps is the model's data: bank_map_data.js.
(() => {
  const place = document.getElementById("bank-map");
  const chosen = {padding: 0, xor: "none", width: 1, access: "loads"};
  const controls = {padding: [0, 1, 2, 4], xor: ["none", "row", "piece"], width: [1, 2, 4], access: ["loads", "stores"]};
  const titles = {padding: "Padding, words a row", xor: "XOR of the column", width: "Floats an access",
                  access: "Frame the shared"};
  place.innerHTML = "<style>#bank-map fieldset{display:inline-block;margin:0 1em .6em 0;border:0;padding:0}" +
    "#bank-map label{margin-right:.8em;white-space:nowrap}#bank-map svg{width:100%;max-width:44rem;display:block}" +
    "#bank-map text{font:8px ui-monospace,monospace;text-anchor:middle;fill:#000b}</style>";
  for (const [name, values] of Object.entries(controls)) {
    const set = place.appendChild(document.createElement("fieldset"));
    set.innerHTML = `<legend>${titles[name]}</legend>` + values.map(value =>
      `<label><input type="radio" name="${name}" value="${value}"${value === chosen[name] ? " checked" : ""}> ${value}</label>`).join("");
  }
  const said = place.appendChild(document.createElement("p"));
  said.setAttribute("aria-live", "polite");
  const picture = place.appendChild(document.createElement("div"));

  function draw() {
    const map = bankMaps.find(one => one.padding == chosen.padding && one.xor === chosen.xor && one.width == chosen.width);
    const framed = new Set(map[chosen.access]);
    // A store of a whole piece accesses all its elements in one request.
    if (chosen.access === "stores" && map.pieces) {
      for (const first of map.stores) for (let k = 1; k < map.width; ++k) framed.add(first + k);
    }
    const number = value => Math.round(100 * value) / 100;
    said.textContent = `Global load ${map.load_sectors} sectors, global store ${map.store_sectors} sectors a request. ` +
      `Bank conflicts: ${number(map.store_conflicts)} a shared store (${map.pieces ? "whole pieces" : "single words"}), ` +
      `${number(map.load_conflicts)} a shared load. The tile has ${map.bytes} bytes.`;
    let cells = "";
    for (let e = 0; e < 1024; ++e) {
      const bank = parseInt(map.banks[e], 32), x = e % 32 * 20, y = Math.floor(e / 32) * 14, on = framed.has(e);
      cells += `<rect x="${x}" y="${y}" width="19" height="13" fill="hsl(${bank * 360 / 32} 70% ${on ? 60 : 82}%)"` +
        `${on ? ' stroke="#111" stroke-width="2"' : ""}/><text x="${x + 9.5}" y="${y + 9.5}">${bank}</text>`;
    }
    picture.innerHTML = `<svg viewBox="-1 -1 642 450" role="img" aria-label="The bank of each element">${cells}</svg>`;
  }
  place.addEventListener("change", event => {
    chosen[event.target.name] = event.target.value;
    draw();
  });
  draw();
})();
