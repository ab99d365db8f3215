// Makes the choices of a prediction clickable: one click (or Enter) records the choice, runs the experiment and shows
// the verdict. Until then the experiment's explanation, which tells the answer, stays hidden.
//
// A question is a text cell with the choices "- a: …", then a cell `predict("01-3")`, the experiment's cells up to the
// one with `reveal("01-3")`, and text that explains what came out.
(() => {
  const ASKS = /^predict\(\s*["']([\w-]+)["']\s*\)/m;
  const TELLS = /\breveal\(\s*["']([\w-]+)["']/g;
  const CHOICE = /^\s*([a-d]):\s/;
  const TOPIC = /^(예측|물음)[ .]|^여기에서 쉬어도/;
  const NEW_TOPIC = /^(#{1,6} |\**(예측|물음)[ .]|여기에서 쉬어도)/m; // the same in Markdown
  const ANNOUNCES_TIME = /\d초(쯤)? 걸/;
  const NOT_RUN_BY_A_CLICK = ["check", "hint", "predict"];

  const source = (cell) => cell.model.sharedModel.getSource();
  const tagsOf = (cell) => cell.model.getMetadata?.("tags") ?? [];
  const outputText = (cell) => JSON.stringify(cell.model.outputs?.toJSON?.() ?? []);

  // The questions of a notebook: {id, asked, told} with the indices of their cells.
  const questionsOf = (notebook) => {
    const found = new Map();
    notebook.widgets.forEach((cell, index) => {
      if (cell.model.type !== "code") return;
      const asks = ASKS.exec(source(cell));
      if (asks) found.set(asks[1], { id: asks[1], asked: index, told: -1 });
      for (const [, id] of source(cell).matchAll(TELLS)) if (found.has(id)) found.get(id).told = index;
    });
    return [...found.values()].filter((one) => one.told > one.asked);
  };

  const chosen = new Map(); // prediction -> letter, of choices made in this window
  const VERDICT = /data-prediction=\\"([\w-]+)\\"(?: data-chosen=\\"(\w)\\" data-answer=\\"(\w)\\")?/g;
  // What stands below an experiment: {letter, answer}; null before a choice. Verdicts of old versions name no letters.
  const verdictOn = (notebook, question) => {
    const found = [...outputText(notebook.widgets[question.told]).matchAll(VERDICT)].find(([, id]) => id === question.id);
    return found ? { letter: found[2], answer: found[3] } : null;
  };
  const told = new Map(); // prediction -> what is said below the choice while its experiment has not shown a verdict
  const isOpen = (notebook, question) => !chosen.has(question.id) && !verdictOn(notebook, question);

  // ---- the choices -------------------------------------------------------------------------------

  const decorate = (app, panel, question) => {
    const notebook = panel.content;
    // Code may stand between text and `predict`: a program to judge, or what a notebook imports.
    let above = question.asked - 1;
    while (notebook.widgets[above]?.model.type === "code") above -= 1;
    const text = notebook.widgets[above]?.node.querySelector(".jp-RenderedMarkdown");
    const items = [...(text?.querySelectorAll("li") ?? [])].filter((item) => CHOICE.test(item.textContent));
    if (items.length < 2) return false;
    const verdict = verdictOn(notebook, question);
    for (const item of items) {
      const letter = CHOICE.exec(item.textContent)[1];
      item.setAttribute("aria-pressed", String((chosen.get(question.id) ?? verdict?.letter) === letter));
      item.classList.toggle("hanstep-right", verdict?.answer === letter);
      const says = chosen.get(question.id) === letter ? told.get(question.id) : undefined;
      if (says) item.dataset.hanstepSays = says;
      else delete item.dataset.hanstepSays;
      if (item.dataset.hanstepChoice === question.id) continue;
      item.dataset.hanstepChoice = question.id;
      item.setAttribute("role", "button");
      item.tabIndex = 0;
      item.parentElement.classList.add("hanstep-choices");
      const act = (event) => {
        if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation(); // JupyterLab would open the cell for editing, or run it
        choose(app, panel, question.id, letter);
      };
      item.addEventListener("click", act);
      item.addEventListener("keydown", act);
      item.addEventListener("dblclick", (event) => event.stopPropagation());
    }
    return true;
  };

  // ---- running -----------------------------------------------------------------------------------

  const ranIn = new WeakMap(); // cell -> id of the kernel in which it ran last
  const noteRuns = (panel) => {
    for (const cell of panel.content.widgets) {
      if (cell.model.type !== "code" || ranIn.has(cell)) continue;
      ranIn.set(cell, null);
      cell.model.stateChanged.connect((_, change) => {
        if (change.name === "executionCount" && change.newValue)
          ranIn.set(cell, panel.sessionContext.session?.kernel?.id ?? null);
      });
    }
  };

  const pause = () => new Promise((again) => setTimeout(again, 100));
  const failed = (cell) => cell.model.outputs?.toJSON().some((output) => output.output_type === "error");

  // Run a cell; the cursor stays where the learner has it. False if the cell failed.
  const runCell = async (app, panel, cell) => {
    const notebook = panel.content;
    const cursor = notebook.activeCellIndex;
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    const running = app.commands.execute("notebook:run-cell"); // the cell that is active at this moment
    notebook.activeCellIndex = cursor;
    if ((await running) !== false) return true;
    // JupyterLab gives up a run when the learner runs the same cell again: then their run counts.
    while (cell.prompt === "*") await pause();
    return cell.model.type !== "code" || !failed(cell);
  };

  const RUNS = "실행하고 있어요…";
  const STARTS = "커널을 준비하고 있어요…";
  const WAITS = "골랐어요. 다른 예측도 고르면 실행해요.";
  const isFolded = (cell) => cell?.model.type === "code" && tagsOf(cell).includes("folded");

  // Questions that share an experiment, which waits until all of them have a choice.
  const sharing = (notebook, question) =>
    questionsOf(notebook).filter((one) => one.asked < question.told && one.told > question.asked);

  // Record a choice in the kernel, which takes it before any cell that is run later. True if it is recorded.
  const record = async (kernel, id, letter) => {
    const code = `from grader import predict; predict(${JSON.stringify(id)}, ${JSON.stringify(letter)})`;
    const reply = await kernel.requestExecute({ code, store_history: false, stop_on_error: false }).done;
    return reply?.content.status === "ok";
  };

  // Run the cells above that have not run in this kernel. False if one of them failed.
  const prepare = async (app, panel, kernel, question) => {
    for (const cell of panel.content.widgets.slice(0, question.asked)) {
      const skip = cell.model.type !== "code" || tagsOf(cell).some((tag) => NOT_RUN_BY_A_CLICK.includes(tag));
      const runs = cell.prompt === "*"; // the learner has started it, and the kernel takes one after the other
      if (!skip && !runs && ranIn.get(cell) !== kernel.id && !(await runCell(app, panel, cell))) return false;
    }
    return true;
  };

  // The end of an experiment's figures and checks: the folded cells behind it up to the next topic, also behind a text
  // that explains it; a cell for which one waits is the learner's to run.
  const endOfFolded = (cells, begin) => {
    let end = begin;
    for (const [index, cell] of cells.slice(begin).entries()) {
      const goesOn = isFolded(cell) || (cell.model.type === "markdown" && !NEW_TOPIC.test(source(cell)));
      if (!goesOn || ANNOUNCES_TIME.test(source(cell))) break;
      if (isFolded(cell)) end = begin + index + 1;
    }
    return end;
  };

  const endOf = (notebook, group) => endOfFolded(notebook.widgets, Math.max(...group.map((one) => one.told)) + 1);

  // Run the experiment of these questions, and the folded figures and checks behind it.
  const experiment = async (app, panel, group) => {
    const begin = Math.max(...group.map((one) => one.asked)) + 1;
    for (const cell of panel.content.widgets.slice(begin, endOf(panel.content, group)))
      if (cell.model.type === "code" && !(await runCell(app, panel, cell))) return;
  };

  // Go on behind the experiment, as Shift+Enter does, if the cursor stands on its questions or cells and not elsewhere.
  const goOn = (notebook, group) => {
    const asked = Math.min(...group.map((one) => one.asked));
    const begin = notebook.widgets.findLastIndex((cell, at) => at < asked && cell.model.type === "markdown");
    const end = endOf(notebook, group);
    if (notebook.activeCellIndex < begin || notebook.activeCellIndex >= end) return;
    notebook.activeCellIndex = Math.min(end, notebook.widgets.length - 1);
  };

  // What follows a choice, once the choices before it are done.
  const follow = async (app, panel, id, recording) => {
    const notebook = panel.content;
    const find = () => questionsOf(notebook).find((one) => one.id === id);
    const question = find();
    const kernel = panel.sessionContext.session?.kernel;
    if (!question || !kernel) return;
    if (!(await prepare(app, panel, kernel, question))) return;
    // The package may be there only now, and an error takes what waits behind it along.
    if (!(await recording)) await record(kernel, id, chosen.get(id));
    const group = sharing(notebook, question);
    if (group.some((one) => isOpen(notebook, one))) {
      told.set(id, WAITS);
      return look(app, panel);
    }
    if (!group.every((one) => verdictOn(notebook, one))) {
      for (const one of group) told.set(one.id, RUNS);
      look(app, panel);
      await experiment(app, panel, group);
    }
    for (const one of group) told.delete(one.id);
    look(app, panel);
    // A cell that has failed keeps the cursor near it.
    if (group.every((one) => verdictOn(notebook, one))) goOn(notebook, group);
    notebook.widgets[find()?.told]?.node.querySelector("[data-prediction]")?.scrollIntoView({ block: "nearest" });
  };

  const last = new WeakMap(); // panel -> the end of what its choices so far have started

  // A choice is kept at once; what it starts waits for what the choices before it have started.
  const choose = (app, panel, id, letter) => {
    chosen.set(id, letter);
    told.set(id, ["idle", "busy"].includes(panel.sessionContext.session?.kernel?.status) ? RUNS : STARTS);
    look(app, panel);
    const ready = panel.sessionContext.ready;
    const recording = ready.then(() => record(panel.sessionContext.session.kernel, id, letter)).catch(() => false);
    recording.then(() => {
      if (told.get(id) === STARTS) told.set(id, RUNS); // the kernel has answered
      look(app, panel);
    });
    const before = last.get(panel) ?? ready;
    const after = before.then(() => follow(app, panel, id, recording)).catch(console.error);
    last.set(
      panel,
      after.then(() => {
        if ([RUNS, STARTS].includes(told.get(id))) told.delete(id); // a cell has failed, and shows why
        look(app, panel);
      }),
    );
  };

  // ---- going past a hidden cell ------------------------------------------------------------------

  const isHidden = (cell) => cell?.node.classList.contains("hanstep-asks");

  // Shift+Enter and the arrows go to the next cell, also to one that is not displayed: JupyterLab would then scroll to
  // the top of the notebook, and nothing would be selected there.
  const passingBy = new WeakSet();
  const passBy = (notebook) => {
    if (passingBy.has(notebook)) return;
    passingBy.add(notebook);
    let last = notebook.activeCellIndex;
    notebook.activeCellChanged.connect(() => {
      const now = notebook.activeCellIndex;
      const ways = now < last ? [-1, 1] : [1, -1];
      const shown = ways.map((step) => {
        let at = now;
        while (isHidden(notebook.widgets[at])) at += step;
        return at;
      });
      last = shown.find((at) => notebook.widgets[at]) ?? now;
      if (last === now) return;
      notebook.activeCellIndex = last;
      // JupyterLab scrolls to the cell that it has gone to, and the choices above it may be out of view.
      if (last > now) setTimeout(() => showChoices(notebook.widgets.slice(0, now)), 150);
    });
  };

  const showChoices = (above) => {
    const asked = above.findLast((cell) => cell.node.querySelector(".hanstep-choices"));
    asked?.node.querySelector(".hanstep-choices").scrollIntoView({ block: "nearest" });
  };

  // ---- what tells the answer ---------------------------------------------------------------------

  // The elements of the text behind an experiment, up to the next topic.
  const explanation = (notebook, question) => {
    const found = [];
    for (const cell of notebook.widgets.slice(question.told + 1)) {
      if (cell.model.type !== "markdown") {
        if (ASKS.test(source(cell)) || tagsOf(cell).some((tag) => tag.startsWith("exercise:"))) break;
        continue; // an experiment without a question: what is said of it belongs to the same topic
      }
      const text = cell.node.querySelector(".jp-RenderedMarkdown");
      for (const part of text?.children ?? []) {
        if (/^H[1-6]$/.test(part.tagName) || TOPIC.test(part.textContent)) return found;
        found.push(part);
      }
    }
    return found;
  };

  const skipped = new Set(); // predictions whose explanation was opened without a choice

  const veil = (notebook, questions) => {
    const hidden = new Map();
    for (const question of questions)
      if (isOpen(notebook, question) && !skipped.has(question.id))
        for (const part of explanation(notebook, question)) hidden.set(part, question.id);
    for (const part of notebook.node.querySelectorAll(".hanstep-explains"))
      if (!hidden.has(part)) part.classList.remove("hanstep-explains");
    for (const [part, id] of hidden) {
      part.classList.add("hanstep-explains");
      part.onclick = () => {
        skipped.add(id);
        veil(notebook, questions);
      };
    }
  };

  const look = (app, panel) => {
    const notebook = panel.content;
    if (!notebook?.model?.cells) return;
    noteRuns(panel);
    passBy(notebook);
    const questions = questionsOf(notebook);
    for (const question of questions) {
      const clickable = decorate(app, panel, question);
      notebook.widgets[question.asked].node.classList.toggle("hanstep-asks", clickable);
    }
    veil(notebook, questions);
  };

  window.hanstepPredictions = { look };
})();
