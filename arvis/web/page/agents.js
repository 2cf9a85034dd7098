/**
 * The list of agents: names for slugs, and one link for each, so that a conversation has an address of its own.
 */

import { make } from "./dom.js";
import { reveal } from "./text.js";

/** The channel of no agent in particular: the daemon's routing decides who answers. */
const ANYONE = { slug: null, name: "Default agent", description: "Whoever is set to answer here" };

export class Agents {
  #known = [];

  /** @param {Element} list the element that holds the links */
  constructor(list) {
    this.list = list;
  }

  set known(agents) {
    this.#known = agents;
  }

  /** The agent of an address; the default one for none, or for one that is gone. */
  find(slug) {
    return this.#known.find((agent) => agent.slug === slug) ?? ANYONE;
  }

  /** The name for people, whether `slug` is known, unknown or missing. */
  nameOf(slug, chosen) {
    const known = this.#known.find((agent) => agent.slug === slug)?.name;
    return reveal(known ?? slug ?? (chosen === ANYONE ? "Arvis" : chosen.name));
  }

  show(chosen) {
    const items = [ANYONE, ...this.#known].map((agent) => {
      const href = agent === ANYONE ? "#" : `#agent=${encodeURIComponent(agent.slug)}`;
      const link = { href, "aria-current": agent === chosen ? "page" : null };
      return make("li", {}, make("a", link, make("bdi", {}, reveal(agent.name))));
    });
    this.list.replaceChildren(...items);
    // On a phone the list is a row that may be wider than the screen.
    this.list.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
