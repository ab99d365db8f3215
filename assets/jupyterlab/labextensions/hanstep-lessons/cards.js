// What a learner does next stands below the card of a check: its hint, the microscope, and on to the next text. After a
// check the card's headline is in view, and above it a line if the exercise's cell was changed since it ran.
(() => {
  const CHECKS = /^check\((\w+)/m;
  const source = (cell) => cell.model.sharedModel.getSource();
  const ranSource = new WeakMap(); // cell -> what stood in it when it ran last

  const runCell = async (app, notebook, cell) => {
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    await app.commands.execute("notebook:run-cell");
    showTop(notebook, cell);
  };

  const showTop = (notebook, cell) => {
    const output = cell.node.querySelector(".jp-Cell-outputArea");
    if (!output) return;
    const view = notebook.node.querySelector(".jp-WindowedPanel-outer")?.getBoundingClientRect() ?? notebook.node.getBoundingClientRect();
    const { top, bottom } = output.getBoundingClientRect();
    if (top < view.top || (bottom > view.bottom && top > view.top + 40)) cell.node.scrollIntoView({ block: "start" });
  };

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

  // ---- hints: how many are left, and the answer, which is asked for once more ------------------------

  const LEFT = /data-hanstep-left=\\"(\w+) (\d+)( answer)?\\"/;
  const answerNext = new Set(); // exercises whose next hint is the answer, and the learner has been asked
  const outputText = (cell) => JSON.stringify(cell.model.outputs?.toJSON?.() ?? []);

  const followHints = (notebook, cell) => {
    const [, exercise, left, answer] = LEFT.exec(outputText(cell)) ?? [];
    if (!exercise) return;
    for (const place of notebook.node.querySelectorAll(`[data-hanstep-hints="${exercise}"]`))
      place.textContent = left === "0" ? "힌트를 모두 봤어요." : `남은 힌트는 ${left}개예요.`;
    answer ? answerNext.add(exercise) : answerNext.delete(exercise);
    for (const button of notebook.node.querySelectorAll(`[data-hanstep-hint-of="${exercise}"]`))
      button.textContent = answer ? "정답 보기" : "힌트";
  };

  const followed = new WeakSet();
  const hintRan = (notebook, cell) => {
    if (followed.has(cell)) return;
    followed.add(cell);
    cell.model.outputs.changed.connect(() => followHints(notebook, cell));
    followHints(notebook, cell);
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
    cell.model.outputs.changed.connect(() => addButtons(app, notebook, cell, CHECKS.exec(source(cell))?.[1] ?? exercise));
  };

  // Which buttons are of use; a card of an older version does not tell.
  const ACTS = /data-hanstep-acts=\\"([\w ]*)\\"/;

  const addButtons = (app, notebook, cell, exercise) => {
    cell.node.querySelector(".hanstep-acts")?.remove();
    const useful = ACTS.exec(outputText(cell))?.[1] ?? "hint microscope";
    const row = document.createElement("div");
    row.className = "hanstep-acts";
    const acts = {
      힌트: () => {
        const rest = answerNext.has(exercise) ? ", answer=True" : "";
        return call(app, notebook, "hint", `"${exercise}"`, cell, rest);
      },
      현미경: () => call(app, notebook, "microscope", exercise, cell),
      "이어서 읽기": () => goOn(notebook, cell),
    };
    const needs = { 힌트: "hint", 현미경: "microscope" };
    for (const [name, act] of Object.entries(acts)) {
      if (needs[name] && !useful.split(" ").includes(needs[name])) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      if (name === "힌트") button.dataset.hanstepHintOf = exercise;
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        act();
      });
      row.append(button);
    }
    cell.node.append(row);
  };

  // ---- a check of code that is no longer in the cell ---------------------------------------------

  // The cell in which the exercise is written: the one with its tag, or else the nearest above the check.
  const cellOf = (notebook, exercise, check) => {
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(check)).filter((cell) => cell.model.type === "code");
    const defines = new RegExp(`^(async\\s+)?(def|class)\\s+${exercise}\\b`, "m");
    return (
      above.find((cell) => (cell.model.getMetadata?.("tags") ?? []).includes(`exercise:${exercise}`)) ??
      above.findLast((cell) => defines.test(source(cell)))
    );
  };

  const warnOfChanges = (app, notebook, check, exercise) => {
    check.node.querySelector(".hanstep-stale")?.remove();
    const cell = cellOf(notebook, exercise, check);
    const isStale = cell && (ranSource.has(cell) ? ranSource.get(cell) !== source(cell) : !cell.model.executionCount);
    if (!isStale) return;
    const line = document.createElement("div");
    line.className = "hanstep-stale";
    line.append("위 셀의 지금 코드는 아직 실행하지 않았어요. 아래는 전에 실행한 코드를 확인한 결과예요. ");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "실행하고 다시 확인";
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      await runCell(app, notebook, cell);
      await runCell(app, notebook, check);
    });
    line.append(button);
    check.node.querySelector(".jp-Cell-outputWrapper")?.before(line);
  };

  // Called when a cell has run.
  const ran = (app, notebook, cell) => {
    ranSource.set(cell, source(cell));
    if (bare(cell).startsWith("hint(")) hintRan(notebook, cell);
    const exercise = CHECKS.exec(source(cell))?.[1];
    if (!exercise) return;
    answerNext.delete(exercise);
    warnOfChanges(app, notebook, cell, exercise);
    followCard(app, notebook, cell, exercise);
    // JupyterLab has gone on to the next cell, and sets the card's height only now.
    setTimeout(() => showTop(notebook, cell), 150);
  };

  window.hanstepCards = { ran };
})();
