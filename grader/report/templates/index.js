"use strict";
// Sorts, searches and filters the table of students and the map of mistakes; without this script both are there whole.
(() => {
  const $ = (id) => document.getElementById(id);
  // Rows shown at once: a class of thousands stays quick, and one of hundreds short on a phone.
  const PAGE = Number(matchMedia("(max-width: 860px)").matches ? $("roll").dataset.small : $("roll").dataset.page);
  const body = $("roll").tBodies[0];
  const rows = [...body.rows];
  const collator = new Intl.Collator("ko", { numeric: true });
  const plain = (text) => text.normalize("NFC").toLowerCase().replace(/\u2060/g, "").replace(/\s+/g, " ").trim();
  const listed = (text) => (text ? text.split(" ") : []);

  // What each filter is called, so that a search finds students by all their mistakes, not by the first alone.
  const called = new Map();
  for (const option of $("stuck").options) {
    const group = option.parentElement.label || "";
    called.set(option.value, plain(`${group} ${option.textContent.replace(/\(\d+명\)$/, "")}`));
  }
  let texts = null;
  const searchable = () =>
    rows.map((row) => {
      const own = listed(row.dataset.at).map((key) => called.get("m" + key) || "");
      return plain(`${row.cells[0].textContent} ${row.cells[row.cells.length - 1].textContent} ${own.join(" ")}`);
    });

  const stuckAt = (row, wanted) => {
    if (wanted[0] === "m") return listed(row.dataset.at).includes(wanted.slice(1));
    const [lesson, place] = wanted.slice(1).split(".").map(Number);
    const status = row.cells[2 + lesson].querySelector(".marks").children[place].className;
    return !["passed", "missing", "unreadable"].includes(status);
  };

  let order = rows;
  let limit = PAGE;
  const show = () => {
    const words = listed(plain($("search").value));
    const stuck = $("stuck").value, kind = $("kind").value, section = $("section").value;
    if (words.length && !texts) texts = new Map(searchable().map((text, i) => [rows[i], text]));
    let found = 0;
    for (const row of order) {
      const fits =
        (!kind || listed(row.dataset.kinds).includes(kind)) &&
        (!section || row.dataset.section === section) &&
        (!stuck || stuckAt(row, stuck)) &&
        words.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      if (fits) found += 1;
      row.classList.toggle("later", fits && found > limit);
    }
    const all = found === rows.length;
    $("told").textContent = all ? `${rows.length}명 모두` : `${rows.length}명 가운데 ${found}명`;
    $("clear").disabled = all && !words.length && !stuck && !kind && !section;
    $("more").parentElement.hidden = found <= limit;
    $("more").textContent = `${Math.min(PAGE, found - limit)}명 더 보기 (${found - limit}명 남음)`;
  };
  // The map of one section: of each cell the table's rows tell who is in it.
  const keysOf = new Map(rows.map((row) => [row, listed(row.dataset.at)]));
  const maps = [...document.querySelectorAll("section:has(> .map)")].map((part) => ({
    rows: [...part.querySelectorAll(".map tbody tr, .map tfoot tr")].map((row) => ({
      row,
      cells: [...row.querySelectorAll("button")].map((button) => ({ button, key: button.getAttribute("popovertarget").slice(2) })),
    })),
  }));
  let drawn = "";
  const drawMaps = (section) => {
    if (section === drawn) return;
    drawn = section;
    const inside = rows.filter((row) => !section || row.dataset.section === section);
    const counts = new Map();
    for (const row of inside) for (const key of keysOf.get(row)) counts.set(key, (counts.get(key) || 0) + 1);
    for (const map of maps) {
      const most = Math.max(1, ...map.rows.flatMap(({ cells }) => cells.map(({ key }) => counts.get(key) || 0)));
      for (const { row, cells } of map.rows) {
        for (const { button, key } of cells) {
          const n = counts.get(key) || 0;
          button.hidden = !n;
          button.className = `heat-${Math.min(4, Math.ceil((4 * n) / most))}`;
          button.lastElementChild.textContent = n;
          button.setAttribute("aria-label", `${button.dataset.name} ${n}명, 누구인지 보기`);
          drawNames($(`at${key}`), section, n);
        }
        const keys = new Set(cells.map(({ key }) => key));
        const students = inside.filter((one) => keysOf.get(one).some((key) => keys.has(key))).length;
        row.querySelector(".sum").textContent = `${students}명`;
        row.hidden = !students;
      }
    }
  };
  const drawNames = (box, section, n) => {
    const names = [...box.querySelectorAll(".names li")];
    for (const name of names) name.hidden = Boolean(section) && name.dataset.section !== section;
    const left = n - names.filter((name) => !name.hidden).length;
    box.querySelector(".count").textContent = n;
    const more = box.querySelector(".unnamed");
    if (!more) return;
    more.textContent = left;
    more.parentElement.hidden = !left;
  };

  const anew = () => {
    limit = PAGE;
    show();
    if ($("map-section")) $("map-section").value = $("section").value;
    drawMaps($("section").value);
  };

  const sort = (head) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const text = (row) => row.cells[head.cellIndex].textContent;
    const compare = head.dataset.sort === "text" ? collator.compare : (a, b) => a - b;
    const read = head.dataset.sort === "text" ? text : (row) => parseFloat(text(row)) || (text(row).trim().startsWith("0") ? 0 : -1);
    const keyed = rows.map((row) => [read(row), row]);
    keyed.sort(down ? (a, b) => compare(b[0], a[0]) : (a, b) => compare(a[0], b[0]));
    order = keyed.map(([, row]) => row);
    body.remove(); // in the page, each row that moves would cost as much as all of them
    for (const row of order) body.append(row);
    $("roll").append(body);
    anew();
  };

  for (const head of document.querySelectorAll("#roll th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }
  $("search").addEventListener("input", anew);
  $("stuck").addEventListener("change", anew);
  $("kind").addEventListener("change", anew);
  $("section").addEventListener("change", anew);
  $("map-section")?.addEventListener("change", () => {
    $("section").value = $("map-section").value;
    anew();
  });
  $("clear").addEventListener("click", () => {
    for (const id of ["search", "stuck", "kind", "section"]) $(id).value = "";
    anew();
    $("search").focus();
  });
  $("more").addEventListener("click", () => {
    const next = order.find((row) => row.classList.contains("later"));
    limit += PAGE;
    show();
    next.querySelector("a").focus(); // the button may be gone
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-only], button[data-section]");
    if (!button) return;
    $("search").value = $("kind").value = "";
    if (button.dataset.only) button.closest("[popover]").hidePopover();
    if (button.dataset.only) $("stuck").value = button.dataset.only;
    else $("section").value = button.dataset.section;
    anew();
    $("students").scrollIntoView();
    $("students").focus({ preventScroll: true });
  });
  // Which exercise a mark stands for, for those who point at it.
  body.addEventListener("mouseover", (event) => {
    const mark = event.target.closest(".marks i");
    if (!mark) return;
    const cell = mark.closest("td");
    const head = $("roll").tHead.rows[0].cells[cell.cellIndex];
    mark.title = listed(head.dataset.names)[[...mark.parentElement.children].indexOf(mark)];
  });

  document.documentElement.classList.add("scripted");
  $("tools").hidden = false;
  show();
  window.addEventListener("pageshow", anew); // a browser that comes back has kept what was typed
})();
