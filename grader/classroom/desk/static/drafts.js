// Drafts: what was typed and not written, by what it is about. The server keeps them, so that they outlive the page.

export function draftStore(send, onTrouble) {
  const kept = new Map();
  const unsaved = new Set();
  let sent = Promise.resolve();
  let underway = 0;
  let inTrouble = false;

  async function save(key) {
    try {
      await send("draft", { key, draft: kept.get(key) ?? null });
      inTrouble = false;
    } catch (error) {
      unsaved.add(key);
      if (!inTrouble) onTrouble(error);
      inTrouble = true;
    } finally {
      underway -= 1;
    }
  }

  function flush() {
    for (const key of unsaved) {
      underway += 1;
      sent = sent.then(() => save(key)); // one after the other: the last one typed is the one that stays
    }
    unsaved.clear();
  }

  function change(key) {
    unsaved.add(key);
    flush();
  }

  return {
    get: (key) => kept.get(key),
    entries: () => [...kept],
    fill: (found) => Object.entries(found).forEach(([key, draft]) => kept.set(key, draft)),
    keep(key, draft) {
      const before = kept.get(key);
      if (before && Object.keys({ ...before, ...draft }).every((name) => before[name] === draft[name])) return;
      kept.delete(key); // the latest is the last
      kept.set(key, draft);
      change(key);
    },
    drop(key) {
      if (kept.delete(key)) change(key);
    },
    flush,
    isSaved: () => !unsaved.size && !underway,
  };
}
