// Buttons that show one of several alternatives, marked `data-choice` in the page; without scripts all of them are shown.

function offerChoices() {
  const groups = new Map();
  for (const part of document.querySelectorAll("[data-choice]")) {
    groups.set(part.parentElement, [...(groups.get(part.parentElement) ?? []), part]);
  }
  for (const [parent, parts] of groups) {
    const buttons = parts.map((part) => element("button", { type: "button" }, part.dataset.choice));
    const choose = (chosen) => {
      parts.forEach((part, n) => {
        part.hidden = n !== chosen;
        buttons[n].setAttribute("aria-pressed", String(n === chosen));
      });
    };
    buttons.forEach((button, n) => button.addEventListener("click", () => choose(n)));
    parent.insertBefore(element("div", { class: "choices", role: "group" }, buttons), parts[0]);
    choose(0);
  }
}
