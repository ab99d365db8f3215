// Builds nodes. Text always enters as text; nothing here or elsewhere sets HTML.

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name.includes("-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

// A card as the server sends it: strings, and [tag, style, children]. Styles go through the CSSOM, which the policy
// lets own scripts use.
export function cardNodes(tree) {
  return tree.map((part) => {
    if (typeof part === "string") return document.createTextNode(part);
    const [tag, style, children] = part;
    const node = document.createElement(tag);
    node.style.cssText = style;
    node.append(...cardNodes(children));
    return node;
  });
}

function codeLines(lines, marks) {
  const rows = [];
  let cell = null;
  let previous = null;
  for (const [number, line, text] of lines) {
    if (number !== cell) {
      cell = number;
      rows.push(make("div", { class: "cell" }, `코드 셀 ${cell}`));
    } else if (previous !== null && line !== previous + 1) {
      rows.push(make("div", { class: "cell" }, "⋯"));
    }
    previous = line;
    const told = marks.filter((mark) => mark.cell === number && mark.line === line);
    const row = make("div", told.length ? { class: "marked" } : {}, make("span", { class: "no", "aria-hidden": "true" }, String(line)), text || " ");
    rows.push(row);
    for (const mark of told) rows.push(make("div", { class: "note" }, `${mark.side}${mark.text}`));
  }
  return make("pre", { class: "code", tabIndex: 0, role: "group", "aria-label": "코드" }, ...rows); // scrolled by keys, too
}

function named(program) {
  const { students, count } = program;
  const first = students[0];
  const mark = first.mark ? ` ${first.mark}점` : "";
  return count === 1 ? `${first.name}${mark}` : `${first.name} 외 ${count - 1}명`;
}

export function programArticle(program, number, choose) {
  const button = make("button", { type: "button" }, named(program));
  const again = program.students.filter((s) => s.again).length;
  const tag = again ? make("span", { class: "tag" }, `이 뒤에 다시 냈어요${program.count > 1 ? ` ${again}명` : ""}`) : "";
  const node = make("article", {}, make("h3", {}, button, program.file ? make("span", { class: "soft" }, ` ${program.file} `) : " ", tag));
  button.addEventListener("click", choose);
  if (program.count > 1) {
    const names = program.students.map((s) => `${s.name}${s.mark ? ` ${s.mark}점` : ""}${s.again ? " (다시 냈어요)" : ""}`);
    const left = program.count - names.length;
    node.append(make("details", { class: "names" }, make("summary", {}, `같은 코드 ${program.count}명`), make("p", {}, names.join(", ") + (left ? ` 외 ${left}명` : ""))));
  }
  if (program.note) node.append(make("p", { class: "told" }, program.note));
  if (program.own.length) node.append(codeLines(program.own, program.marks));
  else if (!program.rest.length && !program.note) node.append(make("p", { class: "soft hint" }, "보여 줄 코드가 없어요."));
  if (program.rest.length) {
    const isMarked = program.marks.some((m) => program.rest.some(([cell, line]) => cell === m.cell && line === m.line));
    const rest = make("details", { open: isMarked }, make("summary", {}, `${program.own.length ? "이 파일의 나머지" : "낸 파일의"} 코드 ${program.rest.length}줄`));
    const fill = () => { if (rest.open && rest.childElementCount === 1) rest.append(codeLines(program.rest, program.marks)); };
    rest.addEventListener("toggle", fill);
    fill();
    node.append(rest);
  }
  return node;
}

function counted(group) {
  const parts = [`${group.students}명`, group.points, group.written && `적음 ${group.written}`, group.seen && "봤어요"];
  const text = parts.filter(Boolean).join(" · ");
  return group.again ? make("span", {}, `${text} `, make("span", { class: "tag" }, `다시 냄 ${group.again}`)) : text;
}

export function foundItem(student, choose) {
  const about = student.handed_in ? student.total : `내지 않음 · ${student.total}`;
  return make("li", {}, act(`${student.name} · ${about}`, choose));
}

export function exerciseItem(exercise, choose) {
  const button = act(`${exercise.sign} ${exercise.title} `, choose);
  button.append(make("span", { class: "soft" }, `${exercise.points} · ${exercise.told}`));
  return make("li", {}, button);
}

export function groupButton(group, isCurrent, choose) {
  const button = make("button", { type: "button", class: group.status, "aria-current": String(isCurrent) },
    `${group.sign} ${group.title}`,
    make("span", { class: "count" }, counted(group)));
  button.addEventListener("click", choose);
  return make("li", {}, button);
}

export function writtenItem(entry, ruleName, acts) {
  const who = entry.rule ? ruleName : entry.students;
  const node = make("li", { class: entry.misfits || entry.missing || entry.again.length ? "stale" : "" },
    entry.score ? make("b", {}, entry.score) : "", make("span", { class: "text" }, entry.text),
    make("div", { class: "soft" }, [entry.rule ? `${who} (${entry.lines}명)` : who, entry.by && `적은 사람: ${entry.by}`].filter(Boolean).join(" · ")));
  const buttons = make("p", { class: "acts" });
  if (entry.again.length) {
    node.append(make("p", {}, `이 뒤에 다시 낸 ${entry.again.length}명의 것은 점수에서 빼 두었어요. 새 답을 보고 정해 주세요.`));
    node.append(make("ul", { class: "each" }, ...entry.again.map((s) => make("li", {}, act(s.name, () => acts.show(s.id)), " ", act("남기기", () => acts.keep(s)), " ", act("지우기", () => acts.removeOf(s))))));
  }
  if (entry.misfits) {
    node.append(make("p", {}, `더는 맞지 않는 학생이 ${entry.misfits}명 있어요.`));
    buttons.append(act(`맞지 않는 ${entry.misfits}명의 것 지우기`, acts.removeMisfits));
  }
  if (entry.missing) {
    node.append(make("p", {}, `아직 적지 않은 학생이 ${entry.missing}명 있어요: ${entry.missing_names}`));
    buttons.append(act(`그 ${entry.missing}명에게도 적기`, acts.extend));
  }
  const what = entry.score ? "점수" : "코멘트";
  const isToldAbove = entry.lines === 1 && entry.again.length === 1; // with a button of its own
  if (!isToldAbove) buttons.append(act(entry.lines > 1 ? `${what} ${entry.lines}줄 모두 지우기` : `${entry.students}의 ${what} 지우기`, acts.remove));
  node.append(buttons);
  return node;
}

export function act(label, run) {
  const button = make("button", { type: "button" }, label);
  button.addEventListener("click", run);
  return button;
}
