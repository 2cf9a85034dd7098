/**
 * The little Markdown that answers need: code fences, inline code, bold, and https links. It builds nodes and never
 * parses HTML; whatever it does not know stays as written, so that no text is lost to a wrong guess.
 */

import { make } from "./dom.js";
import { reveal } from "./text.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$/u;
const INLINE = new RegExp(
  [
    /(?<ticks>`+)(?!`)(?<coded>.+?)(?<!`)\k<ticks>(?!`)/u,
    /\*\*(?=\S)(?<bold>[^*\n]+?)(?<=\S)\*\*/u,
    /\[(?<label>[^\]\n]+)\]\((?<target>https:\/\/[^\s)]+)\)/u,
    /https:\/\/[^\s<>"'`]+/u,
  ].map(({ source }) => source).join("|"),
  "gsu",
);

/** Nodes for a text; an unclosed fence (a stream on its way) is code to its end. */
export function render(text) {
  return blocks(reveal(text)).map((block) => (block.fence ? code(block) : paragraph(block.lines.join("\n"))));
}

function blocks(text) {
  const found = [];
  let open = null;
  for (const line of text.split("\n")) {
    const [, marks, language] = FENCE.exec(line) ?? [];
    if (open?.fence && marks?.startsWith(open.fence) && !language) {
      open = null;
    } else if (marks && !open?.fence) {
      found.push((open = { fence: marks, language, lines: [] }));
    } else {
      if (!open) found.push((open = { fence: null, lines: [] }));
      open.lines.push(line);
    }
  }
  return found.filter((block) => block.fence || block.lines.some((line) => line.trim()));
}

function code({ language, lines }) {
  const text = lines.join("\n");
  const head = make("figcaption", {}, language || "code", copyButton(text));
  // Long lines scroll sideways inside the block, which must work with the keyboard, too.
  return make("figure", { class: "code" }, head, make("pre", { tabindex: "0" }, make("code", {}, text)));
}

function copyButton(text) {
  if (!navigator.clipboard) return null;
  const copy = async ({ currentTarget: button }) => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => button.replaceChildren("Copy"), 1_500);
  };
  return make("button", { type: "button", class: "quiet", onclick: copy }, "Copy");
}

function paragraph(text) {
  const element = make("p", { dir: "auto" });
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    element.append(text.slice(end, match.index));
    end = match.index + match[0].length - appendInline(element, match[0], match.groups);
  }
  element.append(text.slice(end));
  trim(element);
  return element;
}

/** Append the node for a match; how many characters at its end belong to the text after it. */
function appendInline(parent, whole, { coded, bold, label, target }) {
  if (coded) parent.append(make("code", {}, coded));
  else if (bold) parent.append(make("strong", {}, bold));
  else if (target) parent.append(link(target, label, whole));
  else {
    const address = whole.replace(/[.,;:!?)\]}*]+$/u, "");
    parent.append(link(address, address, address));
    return whole.length - address.length;
  }
  return 0;
}

/** A link that says where it goes: a label that is not the address itself is followed by the host. */
function link(target, label, source) {
  const url = URL.canParse(target) ? new URL(target) : null;
  // Names and passwords in an address exist to deceive (https://bank.example@evil.example): shown as text.
  if (!url || url.protocol !== "https:" || url.username || url.password) return source;
  const attributes = { href: url.href, rel: "noopener noreferrer", target: "_blank", title: url.href };
  const anchor = make("a", attributes, make("bdi", {}, label));
  if (label !== target) anchor.append(make("span", { class: "host" }, ` (${url.host})`));
  return anchor;
}

/** Drop the blank lines around a paragraph; the space between blocks is the style sheet's. */
function trim(element) {
  const { firstChild: first, lastChild: last } = element;
  if (first?.nodeType === Node.TEXT_NODE) first.data = first.data.replace(/^\s*\n/u, "");
  if (last?.nodeType === Node.TEXT_NODE) last.data = last.data.trimEnd();
}
