(() => {
  "use strict";
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  const finite = (value) => typeof value === "number";
  const told = (value) => {
    if (value === null) return "None";
    if (!finite(value)) return String(value);
    if (value === 0) return "0";
    const size = Math.abs(value);
    return (size >= 1e4 || size < 1e-3 ? value.toExponential(1) : value.toFixed(size >= 100 ? 1 : 3)).replace("-", "−");
  };
  const alike = (a, b) => a === b || (finite(a) && finite(b) && Math.abs(a - b) <= 2e-6 * Math.max(1, Math.abs(a), Math.abs(b)));
  const plain = (text) => text.replaceAll("`", "");
  const color = (batch) => `var(--hsm-${((batch - 1) % 3) + 1})`;
  const LEGEND = "g₁: 배치 1의 그레이디언트 · 막대: 배치마다의 몫, 굵은 선: 그 합, 점선: 바로 앞의 값 · ← → 키로도 넘길 수 있어요";
  const STATES = {
    momentum_buffer: "모멘텀이 쌓아 둔 그레이디언트",
    exp_avg: "그레이디언트의 이동 평균",
    exp_avg_sq: "그레이디언트 제곱의 이동 평균",
  };
  const FADE = 18; // pixels at which the strip fades out: a whole call begins behind them, if it has room
  const ONE = "내 코드 = 정답";
  const named = (parts) => (parts || []).map((part) => part.text).join("|");
  const allAlike = (one, other) => one.length === other.length && one.every((n, i) => alike(n, other[i]));
  // Whether nothing that is drawn of two frames differs.
  const sameFrame = (a, b) => allAlike(a.values, b.values) && allAlike(a.grads, b.grads) && a.caption === b.caption
    && named(a.parts) === named(b.parts) && named(a.update) === named(b.update) && a.updates === b.updates
    && a.mode === b.mode && a.rate === b.rate && a.loss === b.loss && a.scale === b.scale
    && allAlike(Object.keys(a.state), Object.keys(b.state)) && Object.keys(a.state).every((key) => allAlike(a.state[key], b.state[key]));
  // Whether all of a view may be drawn as one side: the programs do the same in it, moment by moment.
  const isOne = (view) => !view.wrong && view.columns.every((column) => column.acts[0] && column.acts[1]);
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function start(root) {
    root.dataset.ready = "yes";
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    let view = data.views[data.first];
    let at = 0;
    let timer = null;

    const app = make("div", "hsm-app");
    app.append(make("div", "hsm-small", `현미경 · ${data.name}`));
    const head = make("p", "hsm-head");
    app.append(head);

    const choices = make("div", "hsm-row");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", "상황");
    const buttons = data.views.map((one) => {
      const button = make("button", "", (one.wrong ? "≠ " : "") + one.name);
      button.type = "button";
      button.addEventListener("click", () => choose(one));
      choices.append(button);
      return button;
    });
    app.append(choices);

    const strip = make("div", "hsm-strip");
    const lanes = make("div", "hsm-lanes");
    lanes.setAttribute("aria-hidden", "true");
    const labels = make("div");
    labels.append(make("span", "hsm-small", "내 코드"), make("span", "hsm-small", "정답"));
    lanes.append(labels, strip);
    // It fades out at the side on which there is more.
    const fade = () => {
      const after = strip.scrollWidth - strip.clientWidth - strip.scrollLeft;
      strip.style.setProperty("--hsm-before", strip.scrollLeft > 1 ? 1 : 0);
      strip.style.setProperty("--hsm-after", after > 1 ? 1 : 0);
    };
    strip.addEventListener("scroll", fade, { passive: true });
    new ResizeObserver(fade).observe(strip);
    app.append(lanes);

    const controls = make("div", "hsm-row");
    const press = (label, text, act) => {
      const button = make("button", "", text);
      button.type = "button";
      button.setAttribute("aria-label", label);
      button.title = label;
      button.addEventListener("click", act);
      controls.append(button);
      return button;
    };
    press("처음으로", "|◀", () => { stop(); go(0); });
    press("이전 단계", "◀", () => { stop(); go(at - 1); });
    const slider = make("input");
    slider.type = "range";
    slider.min = "0";
    slider.setAttribute("aria-label", "단계");
    slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
    controls.append(slider);
    press("다음 단계", "▶", () => { stop(); go(at + 1); });
    const play = press("재생", "재생", () => (timer ? stop() : run()));
    const parting = press("갈라지는 곳으로", "갈라지는 곳", () => { stop(); go(view.focus); });
    app.append(controls);
    const now = make("p", "hsm-small");
    app.append(now);

    const middle = make("div", "hsm-now");
    const code = make("ol", "hsm-code hsm-mono");
    code.tabIndex = 0;
    code.setAttribute("aria-label", "내 코드");
    for (const [number, pieces] of data.code) {
      const text = pieces.join("");
      const line = make("li");
      line.dataset.line = number;
      const said = make("span");
      (text ? pieces : [" "]).forEach((part, i) => said.append(...(i ? [make("wbr")] : []), part));
      said.style.setProperty("--in", text.length - text.trimStart().length);
      line.append(make("b", "", number), said);
      code.append(line);
    }
    const say = make("div", "hsm-say");
    say.setAttribute("aria-live", "polite");
    const said = ["내 코드", "정답"].map((who) => {
      const block = make("div");
      block.append(make("div", "hsm-small", who), make("p"));
      say.append(block);
      return block.lastChild;
    });
    if (data.code.length) middle.append(code);
    middle.append(say);
    app.append(middle);

    const sides = make("div", "hsm-sides");
    const count = Math.max(1, ...data.views.flatMap((one) => [...one.yours, ...one.right].flatMap((frame) => frame.batches)));
    const panels = ["내 코드", "정답"].map((who) => panel(who, data.names, count));
    sides.append(...panels.map((one) => one.section));
    const legend = make("p", "hsm-small hsm-foot"); // above what it explains: below, it is out of sight
    app.append(legend);
    app.append(sides);

    // JupyterLab would take the keys: it looks for this mark on what has the focus, before its parents.
    app.querySelectorAll("button, input, ol").forEach((control) => { control.dataset.lmSuppressShortcuts = "true"; });
    app.addEventListener("keydown", (event) => {
      if (event.target === code || event.altKey || event.ctrlKey || event.metaKey) return;
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: view.columns.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      stop();
      go(to);
    });

    function stop() {
      clearInterval(timer);
      timer = null;
      say.setAttribute("aria-live", "polite");
      play.textContent = "재생";
      play.setAttribute("aria-label", "재생");
    }
    function run() {
      if (at >= view.columns.length - 1) go(0);
      say.setAttribute("aria-live", "off");
      play.textContent = "멈춤";
      play.setAttribute("aria-label", "멈춤");
      timer = setInterval(() => (at < view.columns.length - 1 && root.isConnected ? go(at + 1) : stop()), 1300);
    }
    function choose(one) {
      stop();
      view = one;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(data.views[i] === view)));
      choices.hidden = data.views.length < 2;
      head.textContent = (view.wrong ? "≠ " : "✓ ") + plain(view.text);
      parting.hidden = !view.wrong;
      const states = new Set([...view.yours, ...view.right].flatMap((frame) => Object.keys(frame.state)));
      legend.textContent = [LEGEND, ...[...states].filter((key) => STATES[key]).map((key) => `${key}: ${STATES[key]}`)].join(" · ");
      slider.max = String(Math.max(0, view.columns.length - 1));
      draw();
      go(view.focus, true);
    }
    function draw() {
      strip.replaceChildren();
      app.classList.toggle("hsm-one", isOne(view));
      labels.firstChild.textContent = isOne(view) ? ONE : "내 코드";
      labels.lastChild.hidden = isOne(view);
      view.columns.forEach((column, i) => {
        (isOne(view) ? [0] : [0, 1]).forEach((side) => {
          const acts = column.acts[side];
          const chip = make("span", "hsm-chip" + (acts ? " hsm-mono" : " hsm-gone"), acts ? column.name : "없음");
          if (acts && view.wrong && !column.acts[1 - side] && !column.idle) { chip.classList.add("hsm-alone"); chip.textContent = "≠ " + column.name; }
          if (i && column.call !== view.columns[i - 1].call) chip.classList.add("hsm-call");
          chip.addEventListener("click", () => { stop(); go(i); });
          strip.append(chip);
        });
      });
    }
    function go(to, fresh) {
      if (!view.columns.length) return;
      const from = at;
      at = Math.min(Math.max(to, 0), view.columns.length - 1);
      const column = view.columns[at];
      const rows = isOne(view) ? 1 : 2;
      slider.value = String(at);
      const where = `${column.when} · ${column.name}`;
      slider.setAttribute("aria-valuetext", `${at + 1}/${view.columns.length}, ${where}`);
      now.textContent = `${at + 1}/${view.columns.length} · ${where}`;
      [...strip.children].forEach((chip, i) => chip.classList.toggle("hsm-here", Math.floor(i / rows) === at));
      const here = strip.children[rows * at];
      const call = strip.children[rows * view.columns.findIndex((one) => one.call === column.call)];
      const fits = here.offsetLeft + here.offsetWidth - call.offsetLeft < strip.clientWidth - FADE;
      strip.scrollTo({ left: fits ? call.offsetLeft - FADE : here.offsetLeft - strip.clientWidth / 2, behavior: still() || fresh ? "auto" : "smooth" });
      fade();
      const pair = [view.yours[at], view.right[at]];
      const one = isOne(view) || (column.acts[0] && column.acts[1] && sameFrame(pair[0], pair[1]));
      panels[0].name(one ? ONE : "내 코드");
      said[0].previousSibling.textContent = one ? ONE : "내 코드";
      app.classList.toggle("hsm-same", one);
      panels[1].section.hidden = said[1].parentNode.hidden = one;
      const scales = { values: reach(view, "values"), grads: reach(view, "grads") };
      pair.forEach((frame, side) => {
        const acts = column.acts[side];
        said[side].textContent = acts ? plain(frame.caption) : side ? "정답에는 이 단계가 없어요." : "내 코드에는 이 단계가 없어요.";
        said[side].classList.toggle("hsm-act", acts);
        const frames = side ? view.right : view.yours;
        const before = at ? frames[at - 1] : null;
        panels[side].show(frame, before, view.wrong && side === 0 ? pair[1] : null, scales, !fresh && at === from + 1 && !still());
      });
      let current = null;
      for (const line of code.children) {
        const on = Number(line.dataset.line) === pair[0].line;
        line.classList.toggle("hsm-here", on);
        if (on) { line.setAttribute("aria-current", "step"); current = line; } else line.removeAttribute("aria-current");
      }
      if (current) code.scrollTop = current.offsetTop - code.offsetTop - code.clientHeight / 2; // and snaps to a line
    }
    root.querySelector(".hsm-static").hidden = true;
    root.append(app);
    choose(view);
  }

  function reach(view, what) {
    const all = [...view.yours, ...view.right].flatMap((frame) => {
      if (what === "values") return frame.values;
      const ends = (frame.parts || []).reduce((sums, part) => {
        const last = sums[sums.length - 1];
        return [...sums, part.numbers.map((n, i) => last[i] + n)];
      }, [frame.grads.map(() => 0)]);
      return [...frame.grads, ...ends.flat()];
    });
    return 1.06 * Math.max(1e-12, ...all.filter(finite).map(Math.abs).filter((n) => n < 1e6));
  }

  function pill(part) {
    const element = make("span", "hsm-pill", part.text);
    element.style.setProperty("--hsm-c", color(part.batch));
    element.dataset.batch = part.batch;
    element.classList.toggle("hsm-away", Boolean(part.away));
    return element;
  }

  function panel(who, names, count) {
    const section = make("section", "hsm-side");
    section.setAttribute("aria-label", who);
    const title = make("p", "hsm-who", who);
    section.append(title);
    const name = (text) => { title.textContent = text; section.setAttribute("aria-label", text); };
    const flow = make("div", "hsm-flow");
    const boxes = ["배치", ".grad", "업데이트"].map((title) => {
      const box = make("div", "hsm-box");
      box.append(make("span", "hsm-small", title), make("div", "hsm-pills"));
      return box;
    });
    flow.append(boxes[0], make("span", "hsm-arrow", "→"), boxes[1], make("span", "hsm-arrow", "→"), boxes[2]);
    section.append(flow);
    const grid = make("div", "hsm-grid");
    const facts = make("p", "hsm-facts");
    section.append(grid, facts);

    function pills(box, parts, empty) {
      const place = box.lastChild;
      if (parts === null) place.replaceChildren(make("span", "hsm-tag", "배치별로 나눌 수 없음"));
      else if (!parts.length) place.replaceChildren(make("span", "hsm-tag", empty));
      else place.replaceChildren(...parts.map(pill));
      return [...place.querySelectorAll(".hsm-pill")];
    }
    function fly(elements, source) {
      for (const element of elements) {
        const from = source.querySelector(`[data-batch="${element.dataset.batch}"]`) || source;
        const a = from.getBoundingClientRect();
        const b = element.getBoundingClientRect();
        element.animate([{ transform: `translate(${a.left - b.left}px, ${a.top - b.top}px)`, opacity: 0.5 }, { transform: "none", opacity: 1 }],
          { duration: 600, easing: "ease-in-out" });
      }
    }

    function show(frame, before, other, scales, moving) {
      const seen = "₁₂₃".slice(0, count).split("").map((digit, i) => ({ batch: i + 1, text: `g${digit}` }));
      pills(boxes[0], seen, "").forEach((element) => element.classList.toggle("hsm-in", frame.batches.includes(Number(element.dataset.batch))));
      const none = frame.grads.every((g) => g === null);
      const held = pills(boxes[1], frame.parts, none ? "None" : frame.grads.every((g) => g === 0) ? "0" : "");
      const used = pills(boxes[2], frame.updates ? frame.update : [], "아직 없음");
      boxes[2].firstChild.textContent = frame.updates ? `업데이트 ${frame.updates}` : "업데이트";
      boxes[1].classList.toggle("hsm-off", Boolean(other) && named(frame.parts) !== named(other.parts));
      boxes[2].classList.toggle("hsm-off", Boolean(other) && (frame.updates !== other.updates || named(frame.update) !== named(other.update)));
      if (moving && before) {
        const old = new Set((before.parts || []).map((part) => part.text));
        if (named(before.parts) !== named(frame.parts)) fly(held.filter((e) => !old.has(e.textContent)), boxes[0]);
        if (frame.moved) fly(used, boxes[1]);
      }
      rows(frame, before, other, scales);
      const extra = [["모드", frame.mode, other && other.mode], ["학습률", frame.rate, other && other.rate], ["손실", frame.loss, null],
        ["배율", frame.scale, other && other.scale]];
      facts.replaceChildren(...extra.filter(([, value]) => value !== null).map(([label, value, right]) => {
        const fact = make("span", "", `${label} `);
        fact.append(make("b", other && right !== null && right !== value ? "hsm-off" : "", value));
        return fact;
      }));
    }

    function rows(frame, before, other, scales) {
      const cells = [make("span"), make("span", "hsm-small hsm-over", "값"), make("span", "hsm-small hsm-over", ".grad")];
      names.forEach((name, i) => {
        cells.push(make("b", "hsm-small", name));
        cells.push(value(frame.values[i], before && before.values[i], scales.values));
        cells.push(number(frame.values[i], other && !alike(frame.values[i], other.values[i])));
        cells.push(gradient(frame, i, scales.grads));
        cells.push(number(frame.grads[i], other && !alike(frame.grads[i], other.grads[i])));
      });
      const entries = Object.entries(frame.state);
      for (let first = 0; first < entries.length; first += 2) {
        const two = entries.slice(first, first + 2);
        cells.push(make("span"));
        for (const place of [0, 1]) cells.push(make("span", "hsm-small hsm-mono hsm-over", two[place] ? two[place][0] : ""));
        names.forEach((name, i) => {
          cells.push(make("b", "hsm-small", name));
          for (const place of [0, 1]) {
            if (!two[place]) { cells.push(make("span"), make("span")); continue; }
            const [key, slots] = two[place];
            const size = Math.max(1e-12, ...slots.filter(finite).map(Math.abs));
            cells.push(value(slots[i], null, 1.06 * size), number(slots[i], other && !alike(slots[i], (other.state[key] || [])[i])));
          }
        });
      }
      grid.replaceChildren(...cells);
    }
    return { section, show, name };
  }

  function number(value, off) {
    const element = make("span", "hsm-num", (off ? "✗ " : "") + told(value)); // `≠ 2.4` reads as "not 2.4"
    if (value === null) element.classList.add("hsm-none");
    if (off) element.classList.add("hsm-off");
    element.title = (off ? "다른 쪽과 달라요: " : "") + (value === null ? "None" : String(value));
    return element;
  }
  const percent = (value, size) => 50 + 50 * Math.max(-1, Math.min(1, value / size));

  function segment(bar, from, to, size, top, height, batch, away) {
    const [a, b] = [percent(from, size), percent(to, size)];
    const part = make("i", away ? "hsm-away" : "");
    part.style.cssText = `left:${Math.min(a, b)}%;width:${Math.max(Math.abs(b - a), 0.6)}%;top:${top}px;height:${height}px`;
    if (batch) part.style.setProperty("--hsm-c", color(batch));
    bar.append(part);
  }
  function tick(bar, name, at, size) {
    const mark = make("i", name);
    mark.style.left = `${percent(at, size)}%`;
    bar.append(mark);
  }
  function value(now, before, size) {
    const bar = make("span", "hsm-bar");
    bar.setAttribute("aria-hidden", "true");
    if (finite(now)) segment(bar, 0, now, size, 10, 10, 0);
    if (finite(before) && before !== now) tick(bar, "hsm-was", before, size);
    return bar;
  }
  function gradient(frame, i, size) {
    const bar = make("span", "hsm-bar");
    bar.setAttribute("aria-hidden", "true");
    const now = frame.grads[i];
    if (!finite(now)) return bar;
    const parts = frame.parts || [];
    const height = parts.length ? Math.min(10, 24 / parts.length) : 10;
    let sum = 0;
    parts.forEach((part, n) => {
      const share = part.numbers[i];
      if (!finite(share)) return;
      segment(bar, sum, sum + share, size, 15 - (parts.length * height) / 2 + n * height, height - 1, part.batch, part.away);
      sum += share;
    });
    if (!parts.length && now !== 0) segment(bar, 0, now, size, 10, 10, 0);
    tick(bar, "hsm-sum", now, size);
    return bar;
  }

  document.querySelectorAll(".hsm:not([data-ready])").forEach(start);
})();
