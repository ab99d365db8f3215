// Drill and clinic bring a cell of their own. A drill's cell is written in at once, with a clock in its corner until the
// function is right; on a clinic's card, line and symptom are clicked.
(() => {
  const BEGINS = /^(drill|clinic)\((?!\w+_(?:drill|clinic)\b|line\b|answer\b)/m;
  const HANDS_IN = /^(drill|clinic)\(\w+_(?:drill|clinic)\)/m;
  const POINTS = /^clinic\((line|answer)=/;
  const GETS = /^clinic\((more=True)?\)$/;
  const FOUND = /data-hanstep-over/;
  const ALL_FOUND = /data-hanstep-over=\\"all/;
  const BLANK = "# 여기에 코드를 쓰세요\n    raise NotImplementedError";
  const source = (cell) => cell.model.sharedModel.getSource();
  const outputText = (cell) => JSON.stringify(cell.model.outputs?.toJSON?.() ?? []);

  const activate = async (app, notebook, cell) => {
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    await app.commands.execute("notebook:enter-edit-mode");
    cell.editor?.focus();
  };

  const wait = () => new Promise((again) => setTimeout(again, 150));
  const done = async (notebook) => {
    await wait(); // JupyterLab goes on to the next cell first
    while (notebook.parent?.sessionContext?.session?.kernel?.status === "busy") await wait();
    await wait(); // and renders the output
  };

  // ---- the drill's cell and clock ----------------------------------------------------------------

  const writeIn = async (app, notebook, cell) => {
    await activate(app, notebook, cell);
    cell.node.scrollIntoView({ block: "nearest" });
    const start = source(cell).indexOf(BLANK);
    if (start < 0 || !cell.editor) return;
    const [from, to] = [start, start + BLANK.length].map((offset) => cell.editor.getPositionAt(offset));
    cell.editor.setSelection({ start: from, end: to }); // the first key replaces it
  };

  const clocks = new WeakMap();
  const startClock = (cell) => {
    const node = document.createElement("div");
    node.className = "hanstep-clock";
    node.setAttribute("role", "timer");
    const began = Date.now();
    const tick = () => {
      const seconds = Math.floor((Date.now() - began) / 1000);
      node.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    };
    tick();
    cell.node.prepend(node);
    const timer = setInterval(() => (cell.isDisposed ? clearInterval(timer) : tick()), 250);
    clocks.set(cell, { node, timer });
  };

  const stopClock = (cell, seconds) => {
    const clock = clocks.get(cell);
    if (!clock) return;
    clearInterval(clock.timer);
    clocks.delete(cell);
    clock.node.dataset.done = seconds;
    const minutes = Math.floor(seconds / 60);
    const rest = (seconds - 60 * minutes).toFixed(1);
    clock.node.textContent = `✓ ${minutes ? `${minutes}분 ` : ""}${rest}초`; // as the card says it
  };

  // ---- the clinic's card -------------------------------------------------------------------------

  // The cell below this one if it begins so, else a new one.
  const cellBelow = async (app, notebook, cell, begins) => {
    const next = notebook.widgets[notebook.widgets.indexOf(cell) + 1];
    if (next && begins.test(source(next))) return next;
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    await app.commands.execute("notebook:insert-cell-below");
    return notebook.widgets[notebook.activeCellIndex];
  };

  const point = async (app, notebook, cell, line, symptom) => {
    const marking = await cellBelow(app, notebook, cell, POINTS);
    const call = symptom ? `clinic(line=${line}, symptom="${symptom}")` : `clinic(line=${line})`;
    await answer(app, notebook, cell, marking, call);
    return outputText(marking);
  };

  // Run a call in the cell below the card; where it closes the case, the button leads on to the next one.
  const answer = async (app, notebook, cell, marking, call) => {
    marking.model.sharedModel.setSource(call);
    notebook.activeCellIndex = notebook.widgets.indexOf(marking);
    notebook.deselectAll();
    await app.commands.execute("notebook:run-cell");
    await done(notebook);
    if (FOUND.test(outputText(marking))) {
      close(cell);
      fold(notebook);
      offerNext(app, notebook, marking);
    } else if (POINTS.test(call)) {
      offerCode(cell, marking);
    }
    marking.node.scrollIntoView({ block: "nearest" });
  };

  // On the progress card, a button in place of the command that opens the clinic.
  const PROGRESS = /^progress\(\)/m;
  const OPENED = /^from grader import clinic\nclinic\(\)$/;
  const offerClinic = (app, notebook, cell) => {
    for (const place of cell.node.querySelectorAll("[data-hanstep-opens]")) {
      const row = document.createElement("div");
      row.className = "hanstep-opens";
      row.append(
        window.hanstepCards.buttonFor("클리닉 열기", async () => {
          const opened = await cellBelow(app, notebook, cell, OPENED);
          opened.model.sharedModel.setSource("from grader import clinic\nclinic()");
          notebook.activeCellIndex = notebook.widgets.indexOf(opened);
          notebook.deselectAll();
          await app.commands.execute("notebook:run-cell");
        }),
      );
      place.replaceWith(row);
    }
  };

  // The cells of closed cases: said and folded, because the next case may bring a cell for a function of the same name.
  const CLOSED = "# 끝난 코드";
  const fold = (notebook) => {
    for (const cell of notebook.widgets) {
      if (HANDS_IN.exec(source(cell))?.[1] !== "clinic" || source(cell).startsWith(CLOSED)) continue;
      cell.model.sharedModel.setSource(`${CLOSED}\n${source(cell)}`); // folded, a cell shows its first line
      cell.inputHidden = true;
    }
  };

  // While a drill runs, what shows the function above it is away: it is to be written from memory. An output is not
  // folded by JupyterLab, which would show the first line of its HTML in its place.
  const folded = new Map(); // the drill's cell -> functions that bring back what was put away for it
  const foldInput = (cell) => {
    cell.inputHidden = true;
    return () => (cell.inputHidden = false);
  };
  const hideOutput = (cell) => {
    const line = document.createElement("div");
    line.className = "hanstep-away-line";
    line.textContent = "기억만으로 쓰도록 드릴이 끝날 때까지 가려 두었어요.";
    const back = () => {
      cell.node.classList.remove("hanstep-away");
      line.remove();
    };
    line.append(" ", window.hanstepCards.buttonFor("그냥 보기", back));
    cell.node.classList.add("hanstep-away");
    cell.node.append(line);
    return back;
  };
  const foldAnswers = (notebook, drill, begins) => {
    const name = /^def (\w+)_drill\b/m.exec(source(drill))?.[1];
    if (!name) return;
    // `_?`: the exercise may be called `ema_update_`, and its drill `ema_update_drill`.
    const defines = new RegExp(`^(def|class) ${name}_?(_clinic|_drill)?\\b`, "m");
    const shows = new RegExp(`\\bdef ${name}_?(_clinic|_drill)?\\b|data-hanstep-(line|over)|data-hanstep-left=.{1,2}${name}_? `);
    const away = [];
    for (const cell of notebook.widgets.slice(0, notebook.widgets.indexOf(drill))) {
      if (cell === begins || cell.model.type !== "code") continue;
      if (defines.test(source(cell)) && !cell.inputHidden) away.push(foldInput(cell));
      if (shows.test(outputText(cell)) && !cell.node.classList.contains("hanstep-away")) away.push(hideOutput(cell));
    }
    folded.set(drill, away);
  };
  const unfoldAnswers = (drill) => {
    for (const back of folded.get(drill) ?? []) back();
    folded.delete(drill);
  };

  // A button that runs a call in the cell below.
  const offer = (app, notebook, cell, name, begins, call) => {
    const { buttonFor, newRow } = window.hanstepCards;
    const act = async () => answer(app, notebook, cell, await cellBelow(app, notebook, cell, begins), call);
    newRow(cell).append(buttonFor(name, act));
  };
  const offerNext = (app, notebook, cell) =>
    ALL_FOUND.test(outputText(cell))
      ? offer(app, notebook, cell, "더 하기", GETS, "clinic(more=True)")
      : offer(app, notebook, cell, "다음 코드", GETS, "clinic()");
  const offerAnswer = (app, notebook, cell) => offer(app, notebook, cell, "답 보기", POINTS, "clinic(answer=True)");

  const [LINE_IS_RIGHT, SYMPTOM_IS_RIGHT] = ["줄은 맞았어요", "증상은 맞았어요"];

  // Where the reply is below a long card, a button leads back to the code, to choose again.
  const codeRows = new WeakMap(); // the card's cell -> the row with that button
  const offerCode = (cell, marking) => {
    const { buttonFor, newRow } = window.hanstepCards;
    const row = newRow(marking);
    codeRows.set(cell, row);
    row.append(
      buttonFor("코드에서 다시 고르기", () => {
        cell.node.querySelector("[data-hanstep-clickable]")?.scrollIntoView({ block: "center" });
        cell.node.querySelector('[role=button][tabindex="0"]')?.focus({ preventScroll: true });
      }),
    );
  };

  // A card whose case is over, or was handed out again further below, answers no click: it would go to another case.
  const close = (cell) => {
    codeRows.get(cell)?.remove();
    for (const card of cell.node.querySelectorAll("[data-hanstep-clickable]")) {
      card.dataset.hanstepClickable = "no";
      for (const item of card.querySelectorAll("[role=button]")) {
        item.removeAttribute("role");
        item.removeAttribute("tabindex");
      }
      cell.node.querySelector(".hanstep-acts")?.remove();
    }
  };

  const makeClickable = (app, notebook, cell) => {
    const card = cell.node.querySelector(".jp-OutputArea-output [data-hanstep-line]")?.closest("[lang]");
    if (!card || card.dataset.hanstepClickable) return;
    for (const other of notebook.widgets) if (other !== cell) close(other);
    card.dataset.hanstepClickable = "yes";
    offerAnswer(app, notebook, cell);
    const kinds = ["line", "symptom"].map((kind) => [...card.querySelectorAll(`[data-hanstep-${kind}]`)]);
    const chosen = kinds.map(() => null); // some cases have no symptoms to choose from
    // What is left to click is said below the card: one click alone does nothing that could be seen.
    const next = document.createElement("div");
    next.className = "hanstep-next";
    next.setAttribute("role", "status");
    if (kinds[1].length) cell.node.querySelector(".hanstep-acts").prepend(next);
    const sayNext = () => {
      const open = chosen.map((item) => !item);
      next.textContent =
        open[0] && open[1]
          ? "코드에서 틀린 줄을, 그 아래에서 증상을 누르세요."
          : open[0] ? "증상을 골랐어요. 이제 코드에서 틀린 줄을 누르세요." : open[1] ? "줄을 골랐어요. 이제 증상을 누르세요." : "";
    };
    sayNext();
    const release = (kind) => {
      chosen[kind] = null;
      for (const item of kinds[kind]) item.setAttribute("aria-pressed", "false");
    };
    // Both are chosen anew after a wrong answer: the next click must not hand in what was just called wrong.
    const handIn = async () => {
      const told = await point(app, notebook, cell, chosen[0].dataset.hanstepLine, chosen[1]?.dataset.hanstepSymptom);
      if (card.dataset.hanstepClickable !== "yes") return; // found: what was chosen stays marked
      if (!told.includes(SYMPTOM_IS_RIGHT)) release(1);
      if (!told.includes(LINE_IS_RIGHT)) release(0);
      sayNext();
    };
    kinds.forEach((items, kind) => {
      for (const item of items) {
        item.setAttribute("role", "button");
        item.setAttribute("aria-pressed", "false");
        item.tabIndex = 0;
        const act = (event) => {
          if (card.dataset.hanstepClickable !== "yes") return;
          if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          chosen[kind] = item;
          for (const one of items) one.setAttribute("aria-pressed", String(one === item));
          sayNext();
          if (kinds.every((all, at) => !all.length || chosen[at])) handIn();
        };
        item.addEventListener("click", act);
        item.addEventListener("keydown", act);
      }
    });
  };

  // ------------------------------------------------------------------------------------------------

  // Called when a cell has got its number; it may still run.
  const ran = async (app, notebook, cell) => {
    const begins = BEGINS.exec(source(cell))?.[1];
    const handsIn = HANDS_IN.exec(source(cell))?.[1];
    const isProgress = PROGRESS.test(source(cell));
    if (!begins && !handsIn && !isProgress) return;
    await done(notebook);
    if (isProgress) {
      offerClinic(app, notebook, cell);
      cell.node.scrollIntoView({ block: "start" }); // Shift+Enter has gone on to the next cell, below a long page
    }
    const output = cell.node.querySelector(".jp-OutputArea-output");
    if (handsIn === "drill") {
      const time = /data-hanstep-time=\\"([\d.]+)/.exec(outputText(cell))?.[1];
      if (time) {
        unfoldAnswers(cell);
        return stopClock(cell, time);
      }
      if (!clocks.has(cell)) return;
      await activate(app, notebook, cell);
      output?.scrollIntoView({ block: "nearest" });
    } else if (begins === "drill") {
      const next = notebook.widgets[notebook.widgets.indexOf(cell) + 1];
      if (!next || !HANDS_IN.test(source(next)) || !source(next).includes(BLANK)) return;
      startClock(next);
      foldAnswers(notebook, next, cell);
      await writeIn(app, notebook, next);
    } else if (handsIn === "clinic") {
      if (!FOUND.test(outputText(cell))) return;
      notebook.widgets.forEach(close);
      fold(notebook);
      offerNext(app, notebook, cell);
    } else if (begins === "clinic") {
      makeClickable(app, notebook, cell);
      output?.scrollIntoView({ block: "nearest" });
    }
  };

  window.hanstepPractice = { ran };
})();
