// Suggestions while typing, and the print button. Every page works without this file.
"use strict";

const LATER = 120;

for (const input of document.querySelectorAll("input[data-suggest]")) {
  suggestFor(input);
}
for (const button of document.querySelectorAll("button[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

function suggestFor(input) {
  const list = document.createElement("ul");
  const said = document.createElement("p");
  list.id = input.id + "-suggestions";
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Entities that fit");
  list.hidden = true;
  said.className = "unseen";
  said.setAttribute("role", "status");
  input.after(list, said);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-expanded", "false"]]) {
    input.setAttribute(name, value);
  }
  let timer = 0, asked = null, at = -1;

  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (option) => {
    if (input.dataset.suggest === "open") {
      window.location.assign(option.dataset.url);
      return;
    }
    input.value = option.dataset.address;
    close();
  };
  const move = (step) => {
    const options = list.children;
    at = (at + step + options.length + (at < 0 && step < 0 ? 1 : 0)) % options.length;
    for (const [place, option] of [...options].entries()) {
      option.setAttribute("aria-selected", String(place === at));
    }
    input.setAttribute("aria-activedescendant", options[at].id);
    options[at].scrollIntoView({ block: "nearest" });
  };
  const show = (found) => {
    list.replaceChildren(...found.map((one, place) => optionOf(one, list.id + "-" + place, choose)));
    list.hidden = found.length === 0;
    at = -1;
    input.setAttribute("aria-expanded", String(found.length > 0));
    input.removeAttribute("aria-activedescendant");
    said.textContent = found.length === 0 ? "No suggestion." : found.length + (found.length === 1 ? " suggestion." : " suggestions.");
  };
  const ask = async () => {
    const text = input.value.replace(/^[A-Za-z][A-Za-z0-9_]*:/, "").trim();
    if (asked !== null) asked.abort();
    if (text === "") return close();
    asked = new AbortController();
    try {
      const answer = await fetch("/suggest?" + new URLSearchParams({ q: text }), { signal: asked.signal, redirect: "error" });
      if (answer.ok && document.activeElement === input) show(await answer.json());
    } catch {
      close(); // no suggestions: the form still searches
    }
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, LATER);
  });
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      choose(list.children[at]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    }
  });
  input.addEventListener("blur", () => {
    clearTimeout(timer);
    setTimeout(close, LATER);
  });
}

function optionOf(one, id, choose) {
  const option = document.createElement("li");
  const name = document.createElement("bdi");
  const place = document.createElement("bdi");
  option.id = id;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  option.dataset.url = one.url;
  option.dataset.address = one.address;
  name.textContent = seen(one.name || one.id);
  place.textContent = seen(one.address);
  place.className = "place";
  option.append(name, place);
  option.addEventListener("mousedown", (event) => {
    event.preventDefault();
    choose(option);
  });
  return option;
}

// What is invisible or turns the direction of text is shown as what it is, as on the pages.
function seen(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (one) =>
    one === "\u200c" || one === "\u200d" ? one : "⟨U+" + one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "⟩");
}
