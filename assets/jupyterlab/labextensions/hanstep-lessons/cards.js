// What a learner does next stands below the card of a check: its hint, the microscope, and on to the next text. After a
// check the card's headline is in view, and above it a line if the exercise's cell was changed since it ran. Code that
// has been checked once is checked again whenever its cell runs; what was seen of earlier code says so.
(() => {
  const CHECKS = /^check\((\w+)/m;
  const LOOKS = /^(microscope|hint)\("?(\w+)/;
  const source = (cell) => cell.model.sharedModel.getSource();
  const exerciseOf = (cell) => CHECKS.exec(source(cell))?.[1] ?? LOOKS.exec(bare(cell))?.[2];
  const ranSource = new WeakMap(); // cell -> what stood in it when it ran last

  const runCell = async (app, notebook, cell) => {
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    const succeeded = (await app.commands.execute("notebook:run-cell")) !== false;
    if (exerciseOf(cell)) showTopSoon(notebook, cell);
    return succeeded;
  };

  // JupyterLab goes on to the next cell first, and gives the output and what is below it their heights.
  const showTopSoon = (notebook, cell) => setTimeout(() => showTop(notebook, cell), 150);

  const showTop = (notebook, cell) => {
    const output = cell.node.querySelector(".jp-Cell-outputArea");
    if (!output) return;
    const scroller = notebook.node.querySelector(".jp-WindowedPanel-outer") ?? notebook.node;
    const view = scroller.getBoundingClientRect();
    const { top } = output.getBoundingClientRect();
    const whole = cell.node.getBoundingClientRect(); // with the buttons below
    if (top < view.top) return cell.node.scrollIntoView({ block: "start" });
    if (whole.bottom <= view.bottom) return;
    // No further than needed: the function stays in view above. Of a check, the headline is enough for that.
    let by = Math.min(whole.bottom - view.bottom, whole.top - view.top);
    const exercise = CHECKS.exec(source(cell))?.[1];
    const written = exercise && cellOf(notebook, exercise, cell)?.node.getBoundingClientRect();
    if (written) by = Math.min(by, Math.max(written.top - view.top, top + HEADLINE - view.bottom));
    scroller.scrollBy({ top: by });
  };
  const HEADLINE = 240; // pixels of a card: its headline, the line of code, and why

  // A cell's code without comments' signs, a line of advice and an import of the function that it calls.
  const bare = (cell) => source(cell).replace(/^[\s#]*(막히면.*\n)?[\s#]*(from grader import \w+\n)?[\s#]*/, "");

  // The cell that calls the function for the exercise; a new one behind `after` if the notebook has none.
  const cellCalling = async (app, notebook, begin, after) => {
    const there = notebook.widgets.find((cell) => cell.model.type === "code" && bare(cell).startsWith(begin));
    if (there) return there;
    notebook.activeCellIndex = notebook.widgets.indexOf(after);
    await app.commands.execute("notebook:insert-cell-below");
    return notebook.widgets[notebook.activeCellIndex];
  };

  // Call `name(argument)` in a cell of its own; `rest` are more arguments.
  const call = async (app, notebook, name, argument, after, rest = "") => {
    const cell = await cellCalling(app, notebook, `${name}(${argument}`, after);
    const imports = new RegExp(`^from grader import .*\\b${name}\\b`, "m");
    const known = notebook.widgets.some((one) => one !== cell && imports.test(ranSource.get(one) ?? ""));
    cell.model.sharedModel.setSource(`${known ? "" : `from grader import ${name}\n`}${name}(${argument}${rest})`);
    await runCell(app, notebook, cell);
  };

  // ---- hints: the next one is a button away, on the card and below the last one ----------------------------

  const LEFT = /data-hanstep-left=\\"(\w+) (\d+)\/(\d+)( answer)?\\"/;
  const answerNext = new Set(); // exercises whose next hint is the answer, and the learner has been asked
  const outputText = (cell) => JSON.stringify(cell.model.outputs?.toJSON?.() ?? []);
  const hintOf = (cell) => {
    const [, name, exercise] = LOOKS.exec(bare(cell)) ?? [];
    return name === "hint" ? exercise : undefined;
  };

  const asksForHint = (cell) => cell.model.type === "code" && hintOf(cell) && /^\s*hint\(/m.test(source(cell)); // no comment

  const hintButton = (app, notebook, cell, exercise) => {
    const next = () => call(app, notebook, "hint", `"${exercise}"`, cell, answerNext.has(exercise) ? ", answer=True" : "");
    const button = buttonFor("힌트", next);
    button.dataset.hanstepHintOf = exercise;
    return button;
  };

  const followHints = (app, notebook, cell) => {
    const [, exercise, left, total, answer] = LEFT.exec(outputText(cell)) ?? [];
    if (!exercise) return;
    answer ? answerNext.add(exercise) : answerNext.delete(exercise);
    if (!cell.node.querySelector("[data-hanstep-hint-of]"))
      newRow(cell).append(hintButton(app, notebook, cell, exercise));
    for (const place of notebook.node.querySelectorAll(`[data-hanstep-hints="${exercise}"]`)) {
      const count = place.querySelector("span:last-child");
      if (left === "0") place.textContent = "힌트를 모두 봤어요.";
      else if (count) count.textContent = `남은 힌트는 ${left}개예요.`;
    }
    const number = `(${Math.min(total - left + 1, total)}/${total})`;
    const name = answer ? `정답 보기 ${number}` : left === "0" ? "힌트 다시 보기" : `다음 힌트 ${number}`;
    // A cell that is out of view may stand outside the notebook's node.
    for (const node of [notebook.node, cell.node])
      for (const button of node.querySelectorAll(`[data-hanstep-hint-of="${exercise}"]`)) button.textContent = name;
    if (left === "0") cell.node.querySelector(".hanstep-acts")?.remove(); // all of them stand above it
  };

  const followed = new WeakSet();
  const hintRan = (app, notebook, cell) => {
    if (!followed.has(cell)) cell.model.outputs.changed.connect(() => followHints(app, notebook, cell));
    followed.add(cell);
    followHints(app, notebook, cell);
  };

  // The microscope takes the arrows as soon as it is there, unless Shift+Enter has gone on to the next cell.
  const focusMicroscope = (notebook, cell) => {
    const focus = () => {
      const picture = cell.node.querySelector(".hsm-app");
      if (!picture) return false;
      const { activeElement } = document; // none, if the button that was pressed is gone
      const isHere = activeElement === document.body || notebook.node.contains(activeElement);
      if (isHere && notebook.activeCell === cell && notebook.mode === "command") picture.focus({ preventScroll: true });
      return true;
    };
    const watcher = new MutationObserver(() => focus() && watcher.disconnect());
    watcher.observe(cell.node, { childList: true, subtree: true });
    setTimeout(() => watcher.disconnect(), 60_000);
  };

  const goOn = (notebook, cell) => {
    const behind = notebook.widgets.slice(notebook.widgets.indexOf(cell) + 1);
    const next = behind.find((one) => one.model.type === "markdown");
    if (!next) return;
    notebook.activeCellIndex = notebook.widgets.indexOf(next);
    next.node.scrollIntoView({ block: "start" });
  };

  const cards = new WeakSet();
  const followCard = (app, notebook, cell, exercise) => {
    addButtons(app, notebook, cell, exercise);
    if (cards.has(cell)) return;
    cards.add(cell);
    for (const one of notebook.widgets)
      if (hintOf(one) === exercise && !LEFT.test(outputText(one))) one.node.querySelector(".hanstep-acts")?.remove();
    cell.model.outputs.changed.connect(() => addButtons(app, notebook, cell, CHECKS.exec(source(cell))?.[1] ?? exercise));
  };

  // Which buttons are of use; a card of an older version does not tell.
  const ACTS = /data-hanstep-acts=\\"([\w ]*)\\"/;

  // ---- a cell that stops because the cells before it have not run in this kernel ------------------------

  const PREPARES = /^# (강의 패키지|준비)/;
  const UNKNOWN = /"ename":"NameError","evalue":"name '(\w+)' is not defined/;

  // The cells to run before this one: those that prepare the notebook, and an exercise's before what asks about it.
  // None if they would not make the name: the exercise's cell defines another one.
  const cellsThatMake = (notebook, name, cell) => {
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(cell)).filter((one) => one.model.type === "code");
    const preparing = above.filter((one) => PREPARES.test(source(one)));
    const exercise = exerciseOf(cell);
    const writing = exercise && cellOf(notebook, exercise, cell);
    if (name === exercise) return writing && defining(exercise).test(source(writing)) ? [...preparing, writing] : [];
    const used = new RegExp(`\\b${name}\\b`);
    if (!preparing.some((one) => used.test(source(one)))) return [];
    return writing ? [...preparing, writing] : preparing;
  };

  const ranInVain = new WeakMap(); // cell -> the code of the cells that have run for it, and have not made the name
  const codeOf = (cells) => cells.map(source).join("\n");

  const offerCellsBefore = (app, notebook, cell) => {
    const name = UNKNOWN.exec(outputText(cell))?.[1];
    if (!name && cell.model.outputs.length) ranInVain.delete(cell);
    const before = name ? cellsThatMake(notebook, name, cell) : [];
    if (!before.length) return false;
    cell.node.querySelector(".hanstep-stale")?.remove();
    if (ranInVain.get(cell) === codeOf(before)) {
      cell.node.querySelector(".hanstep-acts")?.remove();
      warn(cell, `위의 셀을 실행했지만 이 이름은 아직 없어요: ${name}. 위의 셀에 쓴 이름과 같은지 보세요.`);
      return true;
    }
    const act = async () => {
      ranInVain.set(cell, codeOf(before));
      const exercise = CHECKS.exec(source(cell))?.[1];
      const follows = exercise && before.includes(cellOf(notebook, exercise, cell)); // the check, by itself
      const failed = await stayingHere(notebook, cell, async () => {
        for (const one of before) {
          const running = runCell(app, notebook, one); // the cell that is active at this moment
          notebook.activeCellIndex = notebook.widgets.indexOf(cell);
          if (!(await running)) return one;
        }
      });
      if (failed) return showFailed(failed);
      if (!follows && !(await runCell(app, notebook, cell))) showFailed(cell);
    };
    newRow(cell).append(buttonFor("필요한 위의 셀을 실행하고 다시", act));
    return true;
  };

  // Run something while the view stays with a cell: JupyterLab scrolls to each cell that becomes active or has run.
  const stayingHere = async (notebook, cell, run) => {
    notebook.scrollToItem = async () => {};
    try {
      return await run();
    } finally {
      delete notebook.scrollToItem; // the class has its own
      notebook.scrollToItem?.(notebook.widgets.indexOf(cell), "auto");
    }
  };

  const showFailed = (cell) => cell.node.querySelector(".jp-Cell-outputArea")?.scrollIntoView({ block: "nearest" });

  const buttonFor = (name, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      act();
    });
    return button;
  };

  const newRow = (cell) => {
    cell.node.querySelector(".hanstep-acts")?.remove();
    const row = document.createElement("div");
    row.className = "hanstep-acts";
    cell.node.append(row);
    return row;
  };

  const addButtons = (app, notebook, cell, exercise) => {
    if (!cell.model.outputs.length) return; // it runs
    if (offerCellsBefore(app, notebook, cell)) return;
    const row = newRow(cell);
    if (UNKNOWN.test(outputText(cell))) return row.remove(); // nothing was checked
    const useful = (ACTS.exec(outputText(cell))?.[1] ?? "hint microscope").split(" ");
    if (useful.includes("hint")) row.append(hintButton(app, notebook, cell, exercise));
    if (useful.includes("microscope"))
      row.append(buttonFor("현미경", () => call(app, notebook, "microscope", exercise, cell)));
    const goingOn = buttonFor("이어서 읽기", () => goOn(notebook, cell));
    if (useful.includes("hint")) goingOn.classList.add("hanstep-quiet"); // something is left to do here
    row.append(goingOn);
  };

  // ---- a check of code that is no longer in the cell ---------------------------------------------

  // The cell in which the exercise is written: the one with its tag, or else the nearest above the check.
  const cellOf = (notebook, exercise, check) => {
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(check)).filter((cell) => cell.model.type === "code");
    return (
      above.find((cell) => (cell.model.getMetadata?.("tags") ?? []).includes(`exercise:${exercise}`)) ??
      above.findLast((cell) => defining(exercise).test(source(cell)))
    );
  };
  const defining = (exercise) => new RegExp(`^(async\\s+)?(def|class)\\s+${exercise}\\b`, "m");

  // What the kernel has written on an output: the exercise, and the code that its cell had. See `seen_code.py`.
  const SEEN = /data-hanstep-of=\\"(\w+) (\d+)\\"/;
  const adler32 = (text) => {
    let [a, b] = [1, 0];
    for (const byte of new TextEncoder().encode(text.trim())) {
      a = (a + byte) % 65521;
      b = (b + a) % 65521;
    }
    return String(b * 65536 + a);
  };

  // Whether a cell shows what was seen of other code than the exercise's cell ran last, in this window or before it.
  const isOfOtherCode = (notebook, cell, codeOfCell = (written) => ranSource.get(written) ?? source(written)) => {
    const [, exercise, code] = SEEN.exec(outputText(cell)) ?? [];
    const written = exercise && cellOf(notebook, exercise, cell);
    return Boolean(written) && code !== adler32(codeOfCell(written));
  };

  // A line above the cell's output, and a button if there is something to do about it.
  const warn = (cell, text, name, act) => {
    cell.node.querySelector(".hanstep-stale")?.remove();
    const line = document.createElement("div");
    line.className = "hanstep-stale";
    line.append(`${text} `);
    if (name) line.append(buttonFor(name, act));
    cell.node.querySelector(".jp-Cell-outputWrapper")?.before(line);
  };
  // The same above what was seen of other code, which then has no colours: the eye finds the cards that hold.
  const warnOfOld = (cell, ...said) => {
    warn(cell, ...said);
    cell.node.querySelector(".hanstep-stale")?.classList.add("hanstep-old");
  };

  const warnOfChanges = (app, notebook, check, exercise) => {
    check.node.querySelector(".hanstep-stale")?.remove();
    const cell = cellOf(notebook, exercise, check);
    const hasChanged = () => ranSource.get(cell).trim() !== source(cell).trim();
    const isStale = cell && (ranSource.has(cell) ? hasChanged() : !cell.model.executionCount);
    if (!isStale && !isOfOtherCode(notebook, check)) return;
    const text = "위 셀의 지금 코드는 아직 실행하지 않았어요. 아래는 전에 실행한 코드를 확인한 결과예요.";
    warnOfOld(check, text, "실행하고 다시 확인", () => runCell(app, notebook, cell)); // which is followed by the check
  };

  // The exercise's cell has run: check it again if it was checked before, and mark what was seen of other code.
  const followCode = async (app, notebook, cell) => {
    for (const one of notebook.widgets) {
      const about = one.model.type === "code" && LOOKS.exec(bare(one))?.[2];
      if (about && cellOf(notebook, about, one) === cell) markIfSeenBefore(app, notebook, one);
    }
    const wasChecked = (one) => ranSource.has(one) || SEEN.test(outputText(one)); // in this window, or before it
    for (const check of notebook.widgets.filter((one) => one.model.type === "code" && wasChecked(one))) {
      const exercise = CHECKS.exec(source(check))?.[1];
      if (!exercise || cellOf(notebook, exercise, check) !== cell) continue;
      if (check.prompt === "*") continue; // it is about to run
      const active = notebook.activeCellIndex;
      await runCell(app, notebook, check);
      // As if the learner had run both: Shift+Enter has gone on to the check, Ctrl+Enter has stayed. But not on to a cell
      // that asks for a hint: another Shift+Enter, meant for the check, would use up the next one.
      const next = notebook.widgets[active + 1];
      const goesOn = notebook.widgets[active] === check && next && !asksForHint(next);
      notebook.activeCellIndex = goesOn ? active + 1 : active;
    }
  };

  const markIfSeenBefore = (app, notebook, cell) => {
    const [, name, exercise] = LOOKS.exec(bare(cell)) ?? [];
    if (!name || !isOfOtherCode(notebook, cell)) return;
    if (name === "hint") {
      answerNext.delete(exercise); // other code, other hints: none of them has been asked for
      for (const button of cell.node.querySelectorAll("[data-hanstep-hint-of]")) button.textContent = "힌트";
      warnOfOld(cell, OLD_HINT);
    } else warnOfOld(cell, OLD_VIEW, "다시 보기", () => runCell(app, notebook, cell));
  };
  const OLD_HINT = "고치기 전의 코드에 대한 힌트예요.";
  const OLD_VIEW = "고치기 전의 코드예요.";

  // Called when a cell's text may have changed: what was seen of the exercise says so at once, until it is as it was.
  const lastText = new WeakMap();
  const edited = (app, notebook, cell) => {
    if (lastText.get(cell) === source(cell)) return; // an output has changed, or a tag
    lastText.set(cell, source(cell));
    clearTimeout(editing.get(cell));
    editing.set(cell, setTimeout(() => cell.isDisposed || markWhileEdited(app, notebook, cell), 250));
  };
  const editing = new WeakMap();

  const markWhileEdited = (app, notebook, cell) => {
    for (const one of notebook.widgets) {
      const exercise = one !== cell && one.model.type === "code" && exerciseOf(one);
      if (!exercise || cellOf(notebook, exercise, one) !== cell || !SEEN.test(outputText(one))) continue;
      if (one.prompt === "*") continue; // it is about to show what is there now
      if (CHECKS.test(source(one))) warnOfChanges(app, notebook, one, exercise);
      else if (!isOfOtherCode(notebook, one, source)) one.node.querySelector(".hanstep-stale")?.remove();
      else if (hintOf(one)) warnOfOld(one, OLD_HINT);
      else {
        const hasRun = ranSource.get(cell) === source(cell);
        const again = async () => (hasRun || (await runCell(app, notebook, cell))) && runCell(app, notebook, one);
        warnOfOld(one, OLD_VIEW, hasRun ? "다시 보기" : "실행하고 다시 보기", again);
      }
    }
  };

  const isCheck = (cell) => CHECKS.test(source(cell));

  // Called when a cell begins to run, and when it ends: a check may take seconds.
  const runs = (cell, isRunning) => {
    if (isRunning && isCheck(cell)) newRow(cell).classList.add("hanstep-busy");
    if (!isRunning) cell.node.querySelector(".hanstep-busy")?.remove();
  };

  // Called when a cell has run.
  const ran = (app, notebook, cell) => {
    ranSource.set(cell, source(cell));
    const [, looks] = LOOKS.exec(bare(cell)) ?? [];
    if (looks) cell.node.querySelector(".hanstep-stale")?.remove();
    if (looks === "microscope") focusMicroscope(notebook, cell);
    const exercise = CHECKS.exec(source(cell))?.[1];
    if (!exercise) {
      if (hintOf(cell)) hintRan(app, notebook, cell);
      else cell.node.querySelector(".hanstep-acts")?.remove();
      if (!offerCellsBefore(app, notebook, cell)) followCode(app, notebook, cell);
      return;
    }
    warnOfChanges(app, notebook, cell, exercise);
    followCard(app, notebook, cell, exercise);
    showTopSoon(notebook, cell);
  };

  // Cells with outputs of an earlier session: what stands around them is not saved with the notebook.
  const restored = new WeakSet();
  const restore = (app, notebook) => {
    const found = notebook.widgets.filter(
      (cell) =>
        cell.model.type === "code" &&
        !restored.has(cell) &&
        cell.model.outputs.length &&
        cell.node.querySelector(".jp-Cell-outputWrapper"), // JupyterLab makes cells that are far below only later
    );
    for (const cell of found) {
      restored.add(cell);
      const exercise = CHECKS.exec(source(cell))?.[1];
      if (ranSource.has(cell) || !exercise || !ACTS.test(outputText(cell))) continue;
      warnOfChanges(app, notebook, cell, exercise);
      followCard(app, notebook, cell, exercise);
    }
    return found.filter((cell) => !ranSource.has(cell));
  };

  // Before the first check there is no card: the hint's own cell, whose code is a comment, has the button.
  const look = (app, notebook) => {
    const earlier = restore(app, notebook);
    for (const cell of notebook.widgets) {
      const exercise = cell.model.type === "code" && !cell.node.querySelector(".hanstep-acts") && hintOf(cell);
      if (!exercise) continue;
      const isChecked = notebook.widgets.some((one) => cards.has(one) && CHECKS.exec(source(one))?.[1] === exercise);
      if (LEFT.test(outputText(cell)) && !followed.has(cell)) hintRan(app, notebook, cell); // of an earlier session
      else if (source(cell).startsWith("#") && !isChecked) newRow(cell).append(hintButton(app, notebook, cell, exercise));
    }
    for (const cell of earlier) markIfSeenBefore(app, notebook, cell);
  };

  window.hanstepCards = { buttonFor, edited, isCheck, look, newRow, runs, ran };
})();
