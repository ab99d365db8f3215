/* What the pages do: predictions, copying code, keys of the search, notes of terms, printing. Everything can be read without it. */
"use strict";
(() => {
  const english = document.documentElement.lang === "en";
  const memory = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { /* private window: forgotten on leaving */ } },
  };

  // Text with `code` and **bold**, as nodes: nothing of it is read as HTML. No line breaks before a particle.
  function prose(text) {
    const line = document.createElement("p");
    const whole = text.replace(/(?<=[)\]」』”’`])(?=[가-힣])/g, "\u2060");
    for (const part of whole.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
      const kind = part.startsWith("`") ? "code" : part.startsWith("**") ? "strong" : null;
      if (kind === null) { line.append(part); continue; }
      const inner = document.createElement(kind);
      inner.textContent = part.replace(/^(`|\*\*)|(`|\*\*)$/g, "");
      line.append(inner);
    }
    return line;
  }

  // ---- predictions: the answer is decoded only after a choice ------------------------------------------
  const answered = new Set();

  function decoded(text) {
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));
  }

  function openExperiments() {
    for (const details of document.querySelectorAll("details.experiment[data-after]")) {
      if (details.dataset.after.split(" ").every((id) => answered.has(id))) {
        details.open = true;
        details.querySelector(".experiment-wait")?.remove();
      }
    }
  }

  function choose(box, letter) {
    const told = decoded(box.dataset.told);
    const right = letter === told.answer;
    for (const button of box.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === letter));
    }
    const said = box.querySelector(".predict-told");
    const head = prose(`**내 예측 ${letter} → 결과 ${told.answer}**${right ? " 맞았습니다." : ""}`);
    head.className = "predict-result";
    for (const button of box.querySelectorAll("button")) {
      button.dataset.answer = String(button.value === told.answer);
      button.querySelector(".predict-mark")?.remove();
      const words = [button.value === letter ? "내 예측" : "", button.value === told.answer ? "✓ 결과" : ""].filter(Boolean);
      if (words.length === 0) continue;
      const mark = document.createElement("span");
      mark.className = "predict-mark";
      mark.textContent = words.join(" · ");
      button.append(" ", mark);
    }
    said.replaceChildren(head, ...(right ? [] : [prose(told.wrong[letter] ?? "")]), prose(told.because));
    said.dataset.right = String(right);
    box.querySelector(".predict-ask").hidden = true;
    answered.add(box.dataset.id);
    openExperiments();
  }

  // The list of choices that belongs to a box: the nearest above it, also where code stands between them.
  function choicesOf(box, buttons) {
    const fits = (list) =>
      list.children.length === buttons.length &&
      buttons.every(({ value }, place) => list.children[place].textContent.trim().startsWith(`${value}: `));
    let above = box.previousElementSibling;
    while (above !== null && !(above.tagName === "UL" && fits(above))) above = above.previousElementSibling;
    return above;
  }

  // The choices stand on the buttons; without a script they stay the list above them.
  function putChoicesOn(buttons, list) {
    if (list === null) return false;
    const items = [...list.children];
    buttons.forEach((button, place) => {
      const letter = document.createElement("b");
      letter.textContent = button.value;
      const text = document.createElement("span");
      const from = items[place].querySelector(":scope > p") ?? items[place];
      text.append(...from.cloneNode(true).childNodes);
      text.firstChild.textContent = text.firstChild.textContent.replace(/^\s*[a-d]: /, "");
      for (const link of text.querySelectorAll("a")) link.replaceWith(...link.childNodes); // a button holds no links
      button.replaceChildren(letter, " ", text);
    });
    list.hidden = true;
    return true;
  }

  for (const box of document.querySelectorAll(".predict")) {
    const key = `hanstep-predict-${box.dataset.id}`;
    const buttons = [...box.querySelectorAll("button")];
    const told = putChoicesOn(buttons, choicesOf(box, buttons));
    box.classList.toggle("predict-whole", told === true);
    for (const button of buttons) {
      if (!told) button.setAttribute("aria-label", `예측 ${button.value}`);
      button.addEventListener("click", () => { memory.set(key, button.value); choose(box, button.value); });
    }
    const earlier = memory.get(key);
    if (buttons.some((button) => button.value === earlier)) choose(box, earlier);
  }

  // ---- the first page's microscope runs while it is in view, until somebody takes it in hand ---------------
  const stage = document.querySelector(".landing-microscope");
  if (stage !== null && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    let inView = false;
    let waiting = 0;
    const press = (label) => stage.querySelector(`button[aria-label="${label}"]`)?.click();
    const ticking = setInterval(() => {
      const runs = stage.querySelector('button[aria-label="멈춤"]') !== null;
      waiting = runs || !inView ? 0 : waiting + 1;
      if (waiting === 3) { press("처음으로"); press("재생"); }
    }, 700);
    const watching = new IntersectionObserver(([seen]) => {
      inView = seen.isIntersecting;
      if (!inView) press("멈춤");
    }, { rootMargin: "-20% 0px" });
    watching.observe(stage);
    const leave = () => { clearInterval(ticking); watching.disconnect(); };
    for (const kind of ["pointerdown", "keydown"]) stage.addEventListener(kind, leave, { once: true, capture: true });
  }

  // ---- copying code ------------------------------------------------------------------------------------
  async function copied(text) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed, or no such thing */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  for (const block of document.querySelectorAll(".highlight")) {
    const code = block.querySelector("pre");
    if (code === null || block.closest(".cell_output") !== null) continue;
    const button = document.createElement("button");
    const name = english ? "Copy" : "복사";
    button.type = "button";
    button.className = "copy";
    button.textContent = name;
    button.addEventListener("click", async () => {
      const lines = [...code.childNodes].filter((part) => part !== button).map((part) => part.textContent).join("");
      const done = await copied(lines.replace(/\n$/, ""));
      button.textContent = done ? (english ? "Copied" : "복사됨") : (english ? "Failed" : "복사 실패");
      setTimeout(() => { button.textContent = name; }, 1600);
    });
    // Under a mouse it floats, and the first lines run beside it; a finger's, always seen, takes no room from them.
    if (matchMedia("(hover: none)").matches) code.append(button);
    else code.prepend(button);
  }

  // ---- the search, by / or Ctrl+K: in the sidebar, or on its own page where the sidebar is folded away -----
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest?.("input, textarea, select, [contenteditable]");
    const asked = event.key === "/" ? !writes && !event.ctrlKey && !event.metaKey && !event.altKey
      : event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!asked) return;
    event.preventDefault();
    const fields = [...document.querySelectorAll(".search-form input, .sidebar-search")];
    const field = fields.find((one) => one.checkVisibility() && one.getBoundingClientRect().right > 0);
    if (field) field.select();
    else location.assign(document.querySelector(".sidebar-search").form.action);
  });

  // ---- notes of terms: with the mouse and the keyboard; Escape closes; the note itself can be pointed at ----
  const notes = window.TERM_NOTES ?? {};
  const note = document.createElement("div");
  note.id = "term-note";
  note.setAttribute("role", "tooltip");
  note.hidden = true;
  document.body.append(note);
  let leaving;

  function showNote(link) {
    const text = notes[link.hash.slice(1)];
    if (text === undefined) return;
    clearTimeout(leaving);
    note.textContent = text;
    note.hidden = false;
    link.setAttribute("aria-describedby", note.id);
    const at = link.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - note.offsetWidth - 8));
    note.style.left = `${left + scrollX}px`;
    note.style.top = `${at.bottom + scrollY + 4}px`;
  }
  function hideNote() { leaving = setTimeout(() => { note.hidden = true; }, 150); }

  for (const link of document.querySelectorAll("a.term")) {
    link.addEventListener("mouseenter", () => showNote(link));
    link.addEventListener("focus", () => showNote(link));
    link.addEventListener("mouseleave", hideNote);
    link.addEventListener("blur", hideNote);
    // A finger cannot hover: the first tap shows the note, the second goes to the glossary.
    link.addEventListener("click", (event) => {
      if (matchMedia("(hover: none)").matches && link.dataset.shown === undefined) {
        event.preventDefault();
        link.dataset.shown = "";
        showNote(link);
      }
    });
  }
  note.addEventListener("mouseenter", () => clearTimeout(leaving));
  note.addEventListener("mouseleave", hideNote);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") note.hidden = true; });

  // ---- what the theme leaves to the mouse ------------------------------------------------------------------
  for (const label of document.querySelectorAll("label.nav-overlay-icon, label.toc-overlay-icon")) {
    const box = document.getElementById(label.htmlFor);
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${label.className} drawer-button`;
    button.setAttribute("aria-label", box.getAttribute("aria-label"));
    button.append(...label.childNodes);
    button.addEventListener("click", () => box.click());
    const tell = () => button.setAttribute("aria-expanded", String(box.checked));
    box.addEventListener("change", tell);
    tell();
    label.replaceWith(button);
  }
  // ---- what is wider than a phone: a table's rows become blocks of labelled lines, a formula gets smaller -------
  function labelCells(table) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    if (heads.length === 0 || table.dataset.labelled !== undefined) return;
    table.dataset.labelled = "";
    table.setAttribute("role", "table"); // as blocks, its elements would no longer be a table's
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      const isHead = row.parentElement.tagName === "THEAD";
      [...row.cells].forEach((cell, place) => {
        cell.setAttribute("role", isHead ? "columnheader" : cell.tagName === "TH" ? "rowheader" : "cell");
        if (!isHead && place > 0) cell.dataset.label = heads[place] ?? "";
      });
    }
  }
  function fitWidth() {
    for (const table of document.querySelectorAll("article .table-wrapper > table")) {
      table.classList.remove("stacked");
      const { scrollWidth, clientWidth } = table.parentElement;
      if (clientWidth === 0 || scrollWidth <= clientWidth + 1 || innerWidth > 736) continue;
      labelCells(table);
      table.classList.toggle("stacked", table.dataset.labelled !== undefined);
    }
    for (const formula of document.querySelectorAll("div.formula")) {
      formula.style.fontSize = "";
      const { scrollWidth, clientWidth } = formula;
      if (clientWidth > 0 && scrollWidth > clientWidth) {
        formula.style.fontSize = `${Math.max(0.7, 0.98 * clientWidth / scrollWidth)}em`;
      }
    }
  }
  function reachScrolled() {
    fitWidth();
    for (const element of document.querySelectorAll("pre, .table-wrapper, .formula, .cell_output .output")) {
      const scrolls = element.scrollWidth > element.clientWidth + 1;
      if (scrolls && !element.hasAttribute("tabindex")) element.tabIndex = 0;
    }
  }
  reachScrolled();
  addEventListener("resize", reachScrolled);
  document.addEventListener("toggle", reachScrolled, true);

  // ---- paper shows everything but answers to open questions -----------------------------------------------
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("article details:not([open])")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });
})();
