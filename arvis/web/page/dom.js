/**
 * Builds elements. Text always becomes a text node: nothing here, and nothing that uses it, parses HTML.
 */

/**
 * @param {string} tag
 * @param {object} attributes `on…` are listeners, `true` is an empty attribute, null and false are left out
 * @param {...(Node|string|null|false)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
