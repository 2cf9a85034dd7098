// Hide the texts that a person cannot see although they are not hidden for screen readers, and return the hidden elements
// with their former styles. Called with these elements, show them again; called with an element, hide only this element.
// Elements with controls stay, because pages draw controls themselves above invisible ones.
given => {
  const found = [];
  const hide = element => {
    const former = ['visibility', 'transition'].map(name =>
      [name, element.style.getPropertyValue(name), element.style.getPropertyPriority(name)]);
    found.push([element, former]);
    element.style.setProperty('transition', 'none', 'important');
    element.style.setProperty('visibility', 'hidden', 'important');
  };
  if (given instanceof Element) hide(given);
  else for (const [element, former] of given || [])
    for (const [name, value, priority] of former) element.style.setProperty(name, value, priority);
  if (given) return found;
  const controls = 'a[href],button,input,select,textarea,summary,iframe,label,[onclick],[tabindex],[contenteditable],[role]';
  let left = 30000;
  const unseen = element => {
    const style = getComputedStyle(element);
    if (style.display === 'contents') return false;
    if (parseFloat(style.opacity) < 0.05) return true;
    if (!element.firstElementChild && (parseFloat(style.fontSize) < 2 || /rgba\(.*, 0\)$/.test(style.color))) return true;
    const box = element.getBoundingClientRect();
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return true;
    const cut = style.overflow !== 'visible' || style.clip !== 'auto' || style.clipPath !== 'none';
    return cut && (box.width <= 1 || box.height <= 1 || /inset\((?:50|100)%/.test(style.clipPath));
  };
  const walk = root => {
    for (const element of root.children) {
      if (--left < 0) return;
      if (element.style && unseen(element) && !element.matches(controls) && !element.querySelector(controls)) {
        hide(element);
        continue;
      }
      if (element.shadowRoot) walk(element.shadowRoot);
      walk(element);
    }
  };
  if (document.body) walk(document.body);
  return found;
}
