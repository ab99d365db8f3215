/* Looks through the text of all sections. A term finds its other names too: 기울기 누적 = gradient accumulation. */
"use strict";
(() => {
  const MOST = 60;
  const index = window.SEARCH_INDEX;
  const squeezed = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, "");
  const plain = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, " ");
  const groups = index.same.map((words) => words.map(plain));
  // Longest first: "gradient accumulation" before "gradient".
  const names = groups.flatMap((words) => words.map((word) => ({ word, key: squeezed(word), words })))
    .sort((a, b) => b.key.length - a.key.length);
  const hangul = /[가-힣]/;
  const PARTICLE = "(?:으로|을|를|이|가|은|는|의|에|로|과|와|도)?";
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // Each is a list of words of which one must occur. Korean is written with and without spaces; English is not.
  function needlesOf(query) {
    const needles = [];
    let rest = ` ${plain(query).trim()} `;
    for (const { word, words } of names) {
      const particle = hangul.test(word) ? PARTICLE : "";
      const spaced = word.split(" ").map((part) => escaped(part) + particle).join("\\s*");
      const found = new RegExp(`(^|\\s)${spaced}(?=\\s|$)`).exec(rest);
      if (found !== null) {
        needles.push(words);
        rest = rest.replace(found[0], " ");
      }
    }
    return [...needles, ...rest.split(" ").filter(Boolean).map((word) => [word])];
  }

  const sections = index.sections.map((section) => ({
    ...section,
    seen: { title: plain(section.title), text: plain(section.text) },
    packed: { title: squeezed(section.title), text: squeezed(section.text) },
  }));

  const times = (text, word) => text.split(word).length - 1;
  function hits(section, field, word) {
    return hangul.test(word) ? times(section.packed[field], squeezed(word)) : times(section.seen[field], word);
  }

  function score(section, needles) {
    let sum = 0;
    for (const words of needles) {
      const title = words.some((word) => hits(section, "title", word) > 0);
      const text = Math.max(...words.map((word) => hits(section, "text", word)));
      if (!title && text === 0) return 0;
      sum += (title ? 20 : 0) + Math.min(text, 8);
    }
    return section.url.startsWith("glossary.html#") ? sum + 10 : sum;
  }

  // ---- showing ---------------------------------------------------------------------------------------------
  function pattern(needles) {
    const words = needles.flat().sort((a, b) => b.length - a.length)
      .map((word) => escaped(word).replace(/ /g, "\\s*"));
    return new RegExp(`(${words.join("|")})`, "giu");
  }

  function marked(text, search) {
    const made = document.createDocumentFragment();
    text.split(search).forEach((part, place) => {
      if (place % 2 === 0) { made.append(part); return; }
      const mark = document.createElement("mark");
      mark.textContent = part;
      made.append(mark);
    });
    return made;
  }

  function excerpt(text, search) {
    search.lastIndex = 0;
    const at = search.exec(text)?.index ?? 0;
    search.lastIndex = 0;
    const start = Math.max(0, at - 50);
    return (start > 0 ? "…" : "") + text.slice(start, start + 180) + (start + 180 < text.length ? "…" : "");
  }

  function show(query) {
    const status = document.getElementById("search-status");
    const list = document.getElementById("search-found");
    list.replaceChildren();
    const needles = needlesOf(query);
    if (needles.length === 0) { status.textContent = ""; return; }
    const found = sections.map((section) => [score(section, needles), section]).filter(([points]) => points > 0)
      .sort(([a], [b]) => b - a);
    const names = needles.map((words) => words[0] + (words.length > 1 ? ` (${words[1]})` : ""));
    status.textContent = found.length === 0
      ? `「${query}」에 맞는 곳이 없습니다. 낱말을 줄이거나 영어로 찾아보세요.`
      : `${names.join(" · ")}: ${found.length}곳${found.length > MOST ? ` 가운데 ${MOST}곳` : ""}`;
    const search = pattern(needles);
    for (const [, section] of found.slice(0, MOST)) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = section.url;
      link.append(marked(section.title, search));
      item.append(link);
      if (section.page !== section.title) {
        const page = document.createElement("span");
        page.className = "found-page";
        page.textContent = section.page;
        item.append(" ", page);
      }
      const text = document.createElement("p");
      text.append(marked(excerpt(section.text, search), search));
      item.append(text);
      list.append(item);
    }
  }

  const query = document.getElementById("query");
  query.value = new URLSearchParams(location.search).get("q") ?? "";
  show(query.value);
  query.addEventListener("input", () => show(query.value));
  query.form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", `?q=${encodeURIComponent(query.value)}`);
    show(query.value);
  });
})();
